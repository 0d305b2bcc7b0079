// A stand-in for FDPS, which is not a part of this repository: the few of its types that
// examples/fdps/force_kyoho.hpp uses, declared as FDPS 7 declares them, and nothing else.
#pragma once

#include <cstdlib>

namespace ParticleSimulator {

typedef int S32;
typedef long long int S64;
typedef float F32;
typedef double F64;

template <class T>
class Vector3 {
public:
    T x, y, z;
    Vector3() : x(T(0)), y(T(0)), z(T(0)) {}
    Vector3(const T x_, const T y_, const T z_) : x(x_), y(y_), z(z_) {}
    Vector3(const T s) : x(s), y(s), z(s) {}
    Vector3(const Vector3 &from) : x(from.x), y(from.y), z(from.z) {}
    const Vector3 &operator=(const Vector3 &from) {
        x = from.x, y = from.y, z = from.z;
        return *this;
    }
    const Vector3 &operator=(const T s) { return *this = Vector3(s); }
    const Vector3 &operator+=(const Vector3 &other) {
        return *this = Vector3(x + other.x, y + other.y, z + other.z);
    }
    Vector3 operator-(const Vector3 &other) const { return Vector3(x - other.x, y - other.y, z - other.z); }
    Vector3 operator*(const T s) const { return Vector3(x * s, y * s, z * s); }
    Vector3 operator/(const T s) const { return Vector3(x / s, y / s, z / s); }
    T operator*(const Vector3 &other) const { return x * other.x + y * other.y + z * other.z; }
    template <typename U>
    operator Vector3<U>() const {
        return Vector3<U>(static_cast<U>(x), static_cast<U>(y), static_cast<U>(z));
    }
};

typedef Vector3<F32> F32vec;
typedef Vector3<F64> F64vec;

// The numbers of a cell.
#ifdef PARTICLE_SIMULATOR_SPMOM_F32
typedef F32 FSP;
typedef F32vec FSPvec;
#else
typedef F64 FSP;
typedef F64vec FSPvec;
#endif

class SPJMonopole {
public:
    FSP mass;
    FSPvec pos;
    FSP getCharge() const { return mass; }
    FSPvec getPos() const { return pos; }
};

inline void Abort(const int err = -1) { std::exit(err); }

} // namespace ParticleSimulator

namespace PS = ParticleSimulator;
