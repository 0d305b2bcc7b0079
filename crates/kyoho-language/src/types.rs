//! The types of the language.

use std::fmt;

/// The type of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A condition. No variable is declared with it.
    Bool,
    /// An integer of 32 bits.
    I32,
    /// An integer of 32 bits that is never negative.
    U32,
    /// A number of single precision.
    F32,
    /// Two numbers of single precision.
    Ff,
    /// A double.
    F64,
    /// Two doubles.
    Dd,
}

impl Scalar {
    /// The types that variables may have.
    pub const DECLARED: [Scalar; 6] = [Scalar::F32, Scalar::F64, Scalar::Ff, Scalar::Dd, Scalar::I32, Scalar::U32];

    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "condition",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::F32 => "f32",
            Scalar::Ff => "ff",
            Scalar::F64 => "f64",
            Scalar::Dd => "dd",
        }
    }

    /// Returns the type of this name.
    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::DECLARED.into_iter().find(|scalar| scalar.name() == name)
    }

    /// Whether it is a type of real numbers.
    pub fn is_real(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::Ff | Scalar::F64 | Scalar::Dd)
    }

    /// The type of one limb of a number of two.
    pub fn limb(self) -> Option<Scalar> {
        match self {
            Scalar::Ff => Some(Scalar::F32),
            Scalar::Dd => Some(Scalar::F64),
            _ => None,
        }
    }

    /// Whether every number of this type is one of the other too.
    pub fn fits(self, other: Scalar) -> bool {
        use Scalar::*;
        self == other || matches!((self, other), (F32, Ff | F64 | Dd) | (F64 | Ff, Dd) | (I32 | U32, Ff | F64 | Dd))
    }

    /// Returns the type of results of two operands, if one type has the numbers of both.
    pub fn joined(self, other: Scalar) -> Option<Scalar> {
        if self.fits(other) { Some(other) } else { other.fits(self).then_some(self) }
    }

    /// The number of limbs.
    pub fn limbs(self) -> usize {
        if self.limb().is_some() { 2 } else { 1 }
    }

    /// The number of bytes of one number.
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::Ff | Scalar::F64 => 8,
            Scalar::Dd => 16,
        }
    }
}

/// The type of a value: one number, or a vector of two to four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Type {
    /// The type of its numbers.
    pub scalar: Scalar,
    /// The number of components, 1 to 4.
    pub width: usize,
}

impl Type {
    /// The type of one number.
    pub fn one(scalar: Scalar) -> Type {
        Type { scalar, width: 1 }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            1 => formatter.write_str(self.scalar.name()),
            width => write!(formatter, "vec{width}<{}>", self.scalar.name()),
        }
    }
}
