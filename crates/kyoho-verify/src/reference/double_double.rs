//! Numbers of about 106 bits as the sums need them.

pub use kyoho_laws::double_double::DoubleDouble;

use crate::reference::real::Real;

impl Real for DoubleDouble {
    fn from_f64(value: f64) -> Self {
        DoubleDouble::from_limb(value)
    }

    fn to_f64(self) -> f64 {
        DoubleDouble::to_f64(self)
    }

    fn sqrt(self) -> Self {
        DoubleDouble::sqrt(self)
    }
}
