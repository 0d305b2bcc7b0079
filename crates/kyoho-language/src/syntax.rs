//! The tree of a text, before names and types are checked. This is the grammar, where `end` is the
//! end of a line, and commas or ends of lines divide fields, parameters and results:
//!
//! ```text
//! text        = "pair" NAME end { section } "body" end { statement }
//! section     = ("i" | "j") { field } | "param" { parameter } | "result" { result }
//! field       = NAME ":" type
//! parameter   = NAME ":" type [ "[" INTEGER { "," INTEGER } "]" ]
//! result      = NAME ":" type way [ "(" number ")" ]
//! way         = "sum" | "min" | "max" | "count" | "argmin" | "argmax" | "any"
//! type        = number | ("vec2" | "vec3" | "vec4") "<" number ">"
//! number      = "f32" | "f64" | "ff" | "dd" | "i32" | "u32"
//! statement   = NAME "=" expression end
//!             | NAME ("+=" | "-=" | "*=") expression end
//!             | NAME ("min" | "max" | "count" | "any") "=" expression end
//!             | NAME ("argmin" | "argmax") "=" expression "," expression end
//!             | "skip" "if" expression end
//!             | "if" expression end block { "else" "if" expression end block }
//!               [ "else" end block ] "end" end
//!             | "for" NAME "in" expression ".." expression end block "end" end
//! expression  = conjunction { "||" conjunction }
//! conjunction = comparison { "&&" comparison }
//! comparison  = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//! sum         = term { ("+" | "-") term }
//! term        = prefixed { ("*" | "/") prefixed }
//! prefixed    = ("-" | "!") prefixed | postfixed [ "^" prefixed ]
//! postfixed   = operand { "." NAME | "[" expression { "," expression } "]" }
//! operand     = NUMBER | "true" | "false" | NAME | ("i" | "j") "." NAME
//!             | NAME "(" [ expression { "," expression } ] ")" | "(" expression ")"
//! ```

use kyoho_laws::double_double::DoubleDouble;

use super::fault::Place;
use super::types::{Scalar, Type};

/// The two sides of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The sink.
    I,
    /// The source.
    J,
}

impl Side {
    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Side::I => "i",
            Side::J => "j",
        }
    }
}

/// A quantity that every sink or every source has.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub of: Type,
}

/// A quantity of the whole run: a value, or a table of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The type of the value, or of the numbers of the table.
    pub of: Type,
    /// The extents of a table, the last index running fastest; none for a value.
    pub extents: Vec<u32>,
}

impl Parameter {
    /// The count of numbers.
    pub fn count(&self) -> usize {
        let numbers: usize = self.extents.iter().map(|extent| *extent as usize).product();
        numbers * self.of.width
    }
}

/// How a result is made of the terms of all sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum of the terms.
    Sum,
    /// The least one.
    Min,
    /// The greatest one.
    Max,
    /// The number of sources for which a condition holds.
    Count,
    /// A value of the source whose key is the least.
    ArgMin,
    /// A value of the source whose key is the greatest.
    ArgMax,
    /// Whether a condition holds for any source: 1 or 0.
    Any,
}

impl Reduction {
    /// Every way.
    pub const ALL: [Reduction; 7] = [
        Reduction::Sum,
        Reduction::Min,
        Reduction::Max,
        Reduction::Count,
        Reduction::ArgMin,
        Reduction::ArgMax,
        Reduction::Any,
    ];

    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Min => "min",
            Reduction::Max => "max",
            Reduction::Count => "count",
            Reduction::ArgMin => "argmin",
            Reduction::ArgMax => "argmax",
            Reduction::Any => "any",
        }
    }
}

/// A quantity that is found for every sink.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultField {
    /// The name.
    pub name: String,
    /// The type of its terms.
    pub of: Type,
    /// How terms are joined.
    pub reduction: Reduction,
    /// The type in which sums are accumulated and handed over; elsewhere that of the terms.
    pub accumulated: Scalar,
}

/// An operator of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient.
    Div,
    /// Whether the first is less.
    Less,
    /// Whether the first is not greater.
    LessEqual,
    /// Whether the first is greater.
    Greater,
    /// Whether the first is not less.
    GreaterEqual,
    /// Whether they are equal.
    Equal,
    /// Whether they differ.
    NotEqual,
    /// Whether both hold.
    And,
    /// Whether one of them holds.
    Or,
}

impl Binary {
    /// The sign in texts.
    pub fn sign(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Less => "<",
            Binary::LessEqual => "<=",
            Binary::Greater => ">",
            Binary::GreaterEqual => ">=",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::And => "&&",
            Binary::Or => "||",
        }
    }
}

/// An expression with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// The place of its operator or first word.
    pub place: Place,
    /// The expression.
    pub kind: Kind,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A constant, and whether it was written as an integer.
    Number(DoubleDouble, bool),
    /// `true` or `false`.
    Truth(bool),
    /// A name of the body or a parameter.
    Name(String),
    /// A field of the sink or of the source.
    Field(Side, String),
    /// A component of a vector, such as `d.x`.
    Component(Box<Expression>, String),
    /// An element of a table, or a component of a vector.
    Index(Box<Expression>, Vec<Expression>),
    /// `-x`
    Negative(Box<Expression>),
    /// `!x`
    Not(Box<Expression>),
    /// An operator of two operands.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// An integer power.
    Power(Box<Expression>, Box<Expression>),
    /// A function with its arguments.
    Call(String, Vec<Expression>),
}

/// A statement of the body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `name = expression`
    Assign {
        /// The place of the name.
        place: Place,
        /// The name.
        name: String,
        /// The expression.
        value: Expression,
    },
    /// `name += expression` and its like, for names and for results.
    Update {
        /// The place of the name.
        place: Place,
        /// The name.
        name: String,
        /// How the name changes.
        sign: Update,
        /// The terms; `argmin` and `argmax` have a key and a value.
        values: Vec<Expression>,
    },
    /// `skip if condition`
    Skip {
        /// The condition.
        condition: Expression,
    },
    /// `if`, `else if` and `else`; each block but the last has a condition.
    If {
        /// The condition.
        condition: Expression,
        /// The statements where it holds.
        yes: Vec<Statement>,
        /// The statements elsewhere.
        no: Vec<Statement>,
    },
    /// `for name in from..to`
    For {
        /// The place of the name.
        place: Place,
        /// The name.
        name: String,
        /// The first number.
        from: Expression,
        /// The number behind the last one.
        to: Expression,
        /// The statements.
        body: Vec<Statement>,
    },
}

/// How a statement changes a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// `+=`
    Add,
    /// `-=`
    Subtract,
    /// `*=`
    Multiply,
    /// `min=`, `count=` and their like.
    Reduce(Reduction),
}

/// A text.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// The name of the interaction.
    pub name: String,
    /// The fields of sinks and of sources.
    pub fields: [Vec<Field>; 2],
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The results.
    pub results: Vec<ResultField>,
    /// The body.
    pub body: Vec<Statement>,
    /// The place of the body's end.
    pub end: Place,
}
