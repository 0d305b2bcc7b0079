// Relativistic terms of a pair's relative acceleration (crates/kyoho-few-body/src/post_newtonian.rs,
// which has the sources of the formulas).

#define FIRST_TERM 1
#define SECOND_TERM 2
#define DECAY_TERM 4
#define DECAY_CORRECTION_TERM 8

// What is added to the relative acceleration of a pair, as factors of its separation and of its
// relative velocity.
FUNCTION void relativistic_factors(const FewBodyRules *rules, double mass, double eta, const double separation[3],
    const double velocity[3], double factors[2])
{
    const double distance = sqrt(dot(separation, separation));
    const double inverse = 1.0 / distance;
    const double potential = mass * inverse;
    const double speed2 = dot(velocity, velocity);
    const double radial = dot(separation, velocity) * inverse;
    const double radial2 = radial * radial;
    const double square = rules->inverse_square_of_light;
    const double eta2 = eta * eta;
    double along_separation = 0.0, along_velocity = 0.0;
    if (rules->terms & FIRST_TERM) {
        along_separation += square
            * ((1.0 + 3.0 * eta) * speed2 - 2.0 * (2.0 + eta) * potential - 1.5 * eta * radial2);
        along_velocity += square * (-2.0 * (2.0 - eta) * radial);
    }
    if (rules->terms & SECOND_TERM) {
        const double of_separation = 0.75 * (12.0 + 29.0 * eta) * potential * potential
            + eta * (3.0 - 4.0 * eta) * speed2 * speed2
            + 1.875 * eta * (1.0 - 3.0 * eta) * radial2 * radial2
            - 1.5 * eta * (3.0 - 4.0 * eta) * speed2 * radial2
            - 0.5 * eta * (13.0 - 4.0 * eta) * potential * speed2
            - (2.0 + 25.0 * eta + 2.0 * eta2) * potential * radial2;
        const double of_velocity = eta * (15.0 + 4.0 * eta) * speed2
            - (4.0 + 41.0 * eta + 8.0 * eta2) * potential
            - 3.0 * eta * (3.0 + 2.0 * eta) * radial2;
        along_separation += square * square * of_separation;
        along_velocity += square * square * (-0.5 * radial * of_velocity);
    }
    if (rules->terms & DECAY_TERM) {
        const double order = square * square * rules->inverse_of_light;
        const double factor = 1.6 * eta * potential;
        along_separation += order * (-factor * radial * (3.0 * speed2 + 17.0 / 3.0 * potential));
        along_velocity += order * (factor * (speed2 + 3.0 * potential));
    }
    if (rules->terms & DECAY_CORRECTION_TERM) {
        const double order = square * square * square * rules->inverse_of_light;
        const double of_separation = potential * potential * (3956.0 / 35.0 + 184.0 / 5.0 * eta)
            + potential * speed2 * (692.0 / 35.0 - 724.0 / 15.0 * eta)
            + speed2 * speed2 * (366.0 / 35.0 + 12.0 * eta)
            + potential * radial2 * (294.0 / 5.0 + 376.0 / 5.0 * eta)
            - speed2 * radial2 * (114.0 + 12.0 * eta)
            + 112.0 * radial2 * radial2;
        const double of_velocity = -potential * potential * (1060.0 / 21.0 + 104.0 / 5.0 * eta)
            + potential * speed2 * (164.0 / 21.0 + 148.0 / 5.0 * eta)
            - speed2 * speed2 * (626.0 / 35.0 + 12.0 / 5.0 * eta)
            - potential * radial2 * (82.0 / 3.0 + 848.0 / 15.0 * eta)
            + speed2 * radial2 * (678.0 / 5.0 + 12.0 / 5.0 * eta)
            - 120.0 * radial2 * radial2;
        const double factor = eta * potential;
        along_separation += order * (factor * radial * of_separation);
        along_velocity += order * (factor * of_velocity);
    }
    const double newton = -potential * inverse;
    factors[0] = newton * along_separation * inverse;
    factors[1] = newton * along_velocity;
}
