// A stand-in for the header of the same name in FDPS's sample nbody: its particle.
#pragma once

class FPGrav {
public:
    PS::S64 id;
    PS::F64 mass;
    PS::F64vec pos;
    PS::F64vec vel;
    PS::F64vec acc;
    PS::F64 pot;

    static PS::F64 eps;

    PS::F64vec getPos() const { return pos; }
    PS::F64 getCharge() const { return mass; }
};
