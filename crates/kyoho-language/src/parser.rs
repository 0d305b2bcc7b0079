//! From words to the tree; `syntax.rs` has the grammar.

use kyoho_core::memory;

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::lexer::{Word, words};
use super::syntax::{
    Binary, Expression, Field, Kind, Parameter, Reduction, ResultField, Side, Statement, Text, Update,
};
use super::types::{Scalar, Type};

/// The deepest nesting of brackets, blocks and operators.
const MAX_DEPTH: usize = 128;
/// The longest chain of operators of one expression.
const MAX_CHAIN: usize = 256;
/// The most declarations of one section.
pub const MAX_DECLARED: usize = 64;
/// The most numbers of a table.
const MAX_TABLE: usize = 1 << 16;
/// The most indices of a table.
const MAX_EXTENTS: usize = 3;

/// The words that are no names.
const RESERVED: [&str; 19] = [
    "i", "j", "skip", "if", "else", "end", "for", "in", "true", "false", "f32", "f64", "ff", "dd", "i32", "u32",
    "vec2", "vec3", "vec4",
];

/// The sections in their order.
const SECTIONS: &str = "the sections i, j, param, result and body";

/// Returns the tree of a text. With `in_double_double` every `f64` is read as `dd`.
pub fn parse(text: &str, in_double_double: bool) -> Checked<Text> {
    let mut words = words(text)?;
    if in_double_double {
        for (word, _) in &mut words {
            if matches!(word, Word::Name(name) if name == "f64") {
                *word = Word::Name("dd".into());
            }
        }
    }
    Parser { words, next: 0, depth: 0 }.text()
}

struct Parser {
    words: Vec<(Word, Place)>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn word(&self) -> &Word {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Word {
        // The last word is the end of the text.
        let last = self.words.len() - 1;
        &self.words[(self.next + count).min(last)].0
    }

    fn place(&self) -> Place {
        self.words[self.next.min(self.words.len() - 1)].1
    }

    fn step(&mut self) {
        self.next += 1;
    }

    fn fault<T>(&self, allowed: impl Into<String>) -> Checked<T> {
        Err(Fault::new(self.place(), format!("found {}", self.word().shown()), allowed))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.word(), Word::Sign(found) if *found == sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.word(), Word::Name(found) if found == name)
    }

    /// Takes a sign if it is the next word.
    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.next += usize::from(is_next);
        is_next
    }

    /// Takes a keyword if it is the next word.
    fn take_name(&mut self, name: &str) -> bool {
        let is_next = self.is_name(name);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Checked<()> {
        if self.take(sign) { Ok(()) } else { self.fault(format!("'{sign}'")) }
    }

    fn expect_end(&mut self, allowed: &str) -> Checked<()> {
        match self.word() {
            Word::End => self.step(),
            Word::Nothing => (),
            _ => return self.fault(allowed),
        }
        Ok(())
    }

    /// Takes a name that is no reserved word.
    fn name(&mut self, of: &str) -> Checked<String> {
        match self.word() {
            Word::Name(name) if RESERVED.contains(&name.as_str()) => {
                let found = format!("{} is a word of the language", self.word().shown());
                Err(Fault::new(self.place(), found, format!("{of} that is none of {}", listed(RESERVED))))
            }
            Word::Name(name) => {
                let name = name.clone();
                self.step();
                Ok(name)
            }
            _ => self.fault(of),
        }
    }

    /// Reads something one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        if self.depth == MAX_DEPTH {
            let found = format!("more than {MAX_DEPTH} levels of brackets and blocks");
            return Err(Fault::new(self.place(), found, "fewer levels; give parts of it names"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn text(&mut self) -> Checked<Text> {
        if !self.take_name("pair") {
            return self.fault("'pair' and the name of the interaction, with which every text begins");
        }
        let name = self.name("the name of the interaction")?;
        self.expect_end("the end of the line behind the name of the interaction")?;
        let mut text = Text {
            name,
            fields: [Vec::new(), Vec::new()],
            parameters: Vec::new(),
            results: Vec::new(),
            body: Vec::new(),
            end: self.place(),
        };
        let mut seen: Vec<String> = Vec::new();
        loop {
            let (place, section) = match self.word() {
                Word::Name(name) => (self.place(), name.clone()),
                _ => return self.fault(SECTIONS),
            };
            if seen.contains(&section) {
                return Err(Fault::new(place, format!("a second section '{section}'"), "each section once"));
            }
            match section.as_str() {
                "i" | "j" | "param" | "result" | "body" => self.step(),
                _ => return self.fault(SECTIONS),
            }
            match section.as_str() {
                "i" => text.fields[0] = self.declarations(Self::field)?,
                "j" => text.fields[1] = self.declarations(Self::field)?,
                "param" => text.parameters = self.declarations(Self::parameter)?,
                "result" => text.results = self.declarations(Self::result)?,
                _ => {
                    self.expect_end("the end of the line behind 'body'")?;
                    text.body = self.block(&[])?;
                    text.end = self.place();
                    if text.results.is_empty() {
                        let found = "the text has no result";
                        return Err(Fault::new(place, found, "a section 'result' before the body"));
                    }
                    return Ok(text);
                }
            }
            seen.push(section);
        }
    }

    /// Reads the declarations of a section, which commas or ends of lines divide.
    fn declarations<T>(&mut self, mut read: impl FnMut(&mut Self) -> Checked<(String, T)>) -> Checked<Vec<T>> {
        let mut names: Vec<String> = Vec::new();
        let mut all = Vec::new();
        loop {
            while matches!(self.word(), Word::End) || (!all.is_empty() && self.is_sign(",")) {
                self.step();
            }
            // A word without a colon behind it begins the next section.
            match (self.word(), self.ahead(1)) {
                (Word::Name(_), Word::Sign(":")) => (),
                (Word::Name(_), _) if all.is_empty() || self.is_section() => return Ok(all),
                (Word::Nothing, _) => return self.fault(SECTIONS),
                _ => return self.fault("a declaration such as 'mass: f64', or the next section"),
            }
            let place = self.place();
            let (name, declared) = read(self)?;
            if names.contains(&name) {
                let found = format!("'{name}' is declared a second time");
                return Err(Fault::new(place, found, "each name once in a section"));
            }
            if all.len() == MAX_DECLARED {
                let found = format!("more than {MAX_DECLARED} declarations in one section");
                return Err(Fault::new(place, found, format!("at most {MAX_DECLARED}; vectors count once")));
            }
            memory::push(&mut names, name, WHAT)?;
            memory::push(&mut all, declared, WHAT)?;
            if !matches!(self.word(), Word::End | Word::Sign(",") | Word::Nothing) {
                return self.fault("',' or the end of the line behind a declaration");
            }
        }
    }

    fn is_section(&self) -> bool {
        ["i", "j", "param", "result", "body"].iter().any(|section| self.is_name(section))
    }

    fn field(&mut self) -> Checked<(String, Field)> {
        let name = self.name("the name of a field")?;
        self.expect(":")?;
        let of = self.type_of()?;
        Ok((name.clone(), Field { name, of }))
    }

    fn parameter(&mut self) -> Checked<(String, Parameter)> {
        let name = self.name("the name of a parameter")?;
        self.expect(":")?;
        let of = self.type_of()?;
        let mut extents = Vec::new();
        let place = self.place();
        if self.take("[") {
            if of.width > 1 {
                let found = format!("a table of {of}");
                return Err(Fault::new(place, found, "tables of single numbers, such as f64[4, 4]"));
            }
            loop {
                memory::push(&mut extents, self.extent()?, WHAT)?;
                if !self.take(",") {
                    break;
                }
            }
            self.expect("]")?;
            let count = extents.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent as usize));
            if extents.len() > MAX_EXTENTS || count.is_none_or(|count| count > MAX_TABLE) {
                let found = format!("the table '{name}' is too large");
                let allowed = format!("at most {MAX_EXTENTS} indices and {MAX_TABLE} numbers");
                return Err(Fault::new(place, found, allowed));
            }
        }
        Ok((name.clone(), Parameter { name, of, extents }))
    }

    fn extent(&mut self) -> Checked<u32> {
        match self.word() {
            Word::Number(number, true) if (1.0..=MAX_TABLE as f64).contains(&number.high) => {
                let extent = number.high as u32;
                self.step();
                Ok(extent)
            }
            _ => self.fault(format!("the extent of a table, 1 to {MAX_TABLE}")),
        }
    }

    fn scalar(&mut self) -> Checked<Scalar> {
        let found = match self.word() {
            Word::Name(name) => Scalar::from_name(name),
            _ => None,
        };
        match found {
            Some(scalar) => {
                self.step();
                Ok(scalar)
            }
            None => self.fault("a type: f32, f64, ff, dd, i32, u32"),
        }
    }

    fn type_of(&mut self) -> Checked<Type> {
        let width = ["vec2", "vec3", "vec4"].iter().position(|name| self.is_name(name));
        match width {
            None if matches!(self.word(), Word::Name(name) if Scalar::from_name(name).is_some()) => {
                Ok(Type::one(self.scalar()?))
            }
            None => self.fault("a type: f32, f64, ff, dd, i32, u32, or vec2, vec3, vec4 of one, as in vec3<f64>"),
            Some(width) => {
                self.step();
                self.expect("<")?;
                let scalar = self.scalar()?;
                self.expect(">")?;
                Ok(Type { scalar, width: width + 2 })
            }
        }
    }

    fn result(&mut self) -> Checked<(String, ResultField)> {
        let name = self.name("the name of a result")?;
        self.expect(":")?;
        let of = self.type_of()?;
        let place = self.place();
        let reduction = Reduction::ALL.into_iter().find(|reduction| self.is_name(reduction.name()));
        let Some(reduction) = reduction else {
            let ways = listed(Reduction::ALL.map(Reduction::name));
            return self.fault(format!("how the terms of all sources are joined: {ways}"));
        };
        self.step();
        let mut accumulated = of.scalar;
        if self.take("(") {
            let place = self.place();
            accumulated = self.scalar()?;
            let can = reduction == Reduction::Sum && of.scalar.is_real() && of.scalar.fits(accumulated);
            if !can && accumulated != of.scalar {
                let found = format!("{} of {of} in {}", reduction.name(), accumulated.name());
                let allowed = "sums of real numbers in a type that has all numbers of the terms";
                return Err(Fault::new(place, found, allowed));
            }
            self.expect(")")?;
        }
        let is_allowed = match reduction {
            Reduction::Sum => true,
            Reduction::Min | Reduction::Max | Reduction::ArgMin | Reduction::ArgMax => of.width == 1,
            Reduction::Count | Reduction::Any => of == Type::one(Scalar::U32),
        };
        if !is_allowed {
            let allowed = "u32 for count and any, single numbers for min, max, argmin and argmax, every type for sum";
            return Err(Fault::new(place, format!("{} of {of}", reduction.name()), allowed));
        }
        Ok((name.clone(), ResultField { name, of, reduction, accumulated }))
    }

    /// Reads statements up to one of some keywords, or to the end of the text.
    fn block(&mut self, ends: &[&str]) -> Checked<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            match self.word() {
                Word::End => self.step(),
                Word::Nothing if ends.is_empty() => return Ok(statements),
                Word::Nothing => return self.fault(format!("'{}' of the block before", ends[ends.len() - 1])),
                Word::Name(name) if ends.contains(&name.as_str()) => return Ok(statements),
                Word::Name(name) if name == "else" || name == "end" => {
                    return self.fault("a statement, as no block is open here");
                }
                _ => memory::push(&mut statements, self.statement()?, WHAT)?,
            }
        }
    }

    fn statement(&mut self) -> Checked<Statement> {
        let place = self.place();
        if self.take_name("skip") {
            if !self.take_name("if") {
                return self.fault("'if' and a condition behind 'skip'");
            }
            let condition = self.expression()?;
            self.statement_ends()?;
            return Ok(Statement::Skip { condition });
        }
        if self.take_name("if") {
            return self.deeper(Self::conditional);
        }
        if self.take_name("for") {
            return self.deeper(|parser| parser.counted(place));
        }
        let name = match self.word() {
            Word::Name(_) => self.name("the name that is assigned")?,
            _ => return self.fault("a statement: 'name = ...', 'result += ...', 'skip if', 'if' or 'for'"),
        };
        if self.take("=") {
            let value = self.expression()?;
            self.statement_ends()?;
            return Ok(Statement::Assign { place, name, value });
        }
        let sign = match self.word() {
            Word::Sign("+=") => Update::Add,
            Word::Sign("-=") => Update::Subtract,
            Word::Sign("*=") => Update::Multiply,
            Word::Name(_) if matches!(self.ahead(1), Word::Sign("=")) => {
                let way = Reduction::ALL.into_iter().find(|way| *way != Reduction::Sum && self.is_name(way.name()));
                match way {
                    Some(way) => {
                        self.step();
                        Update::Reduce(way)
                    }
                    None => return self.fault("min=, max=, count=, any=, argmin= or argmax="),
                }
            }
            _ => return self.fault("=, +=, -=, *=, min=, max=, count=, any=, argmin= or argmax= behind a name"),
        };
        self.step();
        let mut values = vec![self.expression()?];
        if self.take(",") {
            memory::push(&mut values, self.expression()?, WHAT)?;
        }
        self.statement_ends()?;
        Ok(Statement::Update { place, name, sign, values })
    }

    fn statement_ends(&mut self) -> Checked<()> {
        self.expect_end("an operator, or the end of the line")
    }

    /// Reads what follows `if`.
    fn conditional(&mut self) -> Checked<Statement> {
        let condition = self.expression()?;
        self.statement_ends()?;
        let yes = self.block(&["else", "end"])?;
        let no = if self.take_name("else") {
            if self.take_name("if") {
                // The chain shares its end.
                return Ok(Statement::If { condition, yes, no: vec![self.deeper(Self::conditional)?] });
            }
            self.expect_end("the end of the line, or 'if', behind 'else'")?;
            self.block(&["end"])?
        } else {
            Vec::new()
        };
        self.step();
        self.expect_end("the end of the line behind 'end'")?;
        Ok(Statement::If { condition, yes, no })
    }

    /// Reads what follows `for`.
    fn counted(&mut self, place: Place) -> Checked<Statement> {
        let name = self.name("the name that counts")?;
        if !self.take_name("in") {
            return self.fault("'in', as in 'for k in 0..4'");
        }
        let from = self.expression()?;
        self.expect("..")?;
        let to = self.expression()?;
        self.statement_ends()?;
        let body = self.block(&["end"])?;
        self.step();
        self.expect_end("the end of the line behind 'end'")?;
        Ok(Statement::For { place, name, from, to, body })
    }

    fn expression(&mut self) -> Checked<Expression> {
        self.binary(0).map(|(expression, _)| expression)
    }

    /// Reads an expression whose operators bind at least as tightly as a level, and returns its
    /// height too.
    fn binary(&mut self, level: u8) -> Checked<(Expression, usize)> {
        self.deeper(|parser| {
            let (mut left, mut height) = parser.prefixed()?;
            let mut compared = false;
            while let Some((operator, own)) = parser.operator().filter(|(_, own)| *own >= level) {
                let place = parser.place();
                if own == COMPARISON && std::mem::replace(&mut compared, true) {
                    return parser.fault("one comparison; join two by &&");
                }
                parser.step();
                let (right, other) = parser.binary(own + 1)?;
                height = height.max(other) + 1;
                if height > MAX_CHAIN {
                    let found = format!("more than {MAX_CHAIN} operators on one another");
                    return Err(Fault::new(place, found, "shorter expressions; give parts of it names"));
                }
                left = Expression { place, kind: Kind::Binary(operator, Box::new(left), Box::new(right)) };
            }
            Ok((left, height))
        })
    }

    /// Returns the operator that is the next word, with the level at which it binds.
    fn operator(&self) -> Option<(Binary, u8)> {
        let Word::Sign(sign) = self.word() else { return None };
        Some(match *sign {
            "||" => (Binary::Or, 1),
            "&&" => (Binary::And, 2),
            "<" => (Binary::Less, COMPARISON),
            "<=" => (Binary::LessEqual, COMPARISON),
            ">" => (Binary::Greater, COMPARISON),
            ">=" => (Binary::GreaterEqual, COMPARISON),
            "==" => (Binary::Equal, COMPARISON),
            "!=" => (Binary::NotEqual, COMPARISON),
            "+" => (Binary::Add, 4),
            "-" => (Binary::Sub, 4),
            "*" => (Binary::Mul, 5),
            "/" => (Binary::Div, 5),
            _ => return None,
        })
    }

    /// Reads an operand with the signs before it. `-x^2` is `-(x^2)`.
    fn prefixed(&mut self) -> Checked<(Expression, usize)> {
        let place = self.place();
        if self.take("-") {
            let (value, height) = self.deeper(Self::prefixed)?;
            return Ok((Expression { place, kind: Kind::Negative(Box::new(value)) }, height + 1));
        }
        if self.take("!") {
            let (value, height) = self.deeper(Self::prefixed)?;
            return Ok((Expression { place, kind: Kind::Not(Box::new(value)) }, height + 1));
        }
        let (base, mut height) = self.postfixed()?;
        let place = self.place();
        if !self.take("^") {
            return Ok((base, height));
        }
        let exponent = self.deeper(Self::prefixed)?;
        height = height.max(exponent.1) + 1;
        Ok((Expression { place, kind: Kind::Power(Box::new(base), Box::new(exponent.0)) }, height))
    }

    /// Reads an operand with components and indices behind it.
    fn postfixed(&mut self) -> Checked<(Expression, usize)> {
        let (mut value, mut height) = self.operand()?;
        loop {
            let place = self.place();
            if self.take(".") {
                let name = self.name("a component: x, y, z or w")?;
                value = Expression { place, kind: Kind::Component(Box::new(value), name) };
            } else if self.take("[") {
                let (indices, other) = self.list("]")?;
                height = height.max(other);
                value = Expression { place, kind: Kind::Index(Box::new(value), indices) };
            } else {
                return Ok((value, height));
            }
            height += 1;
            if height > MAX_CHAIN {
                return self.fault(format!("at most {MAX_CHAIN} operators on one another"));
            }
        }
    }

    /// Reads expressions with commas between them and a bracket behind them.
    fn list(&mut self, end: &str) -> Checked<(Vec<Expression>, usize)> {
        let (mut values, mut height) = (Vec::new(), 0);
        if self.take(end) {
            return Ok((values, height));
        }
        loop {
            let (value, own) = self.binary(0)?;
            memory::push(&mut values, value, WHAT)?;
            height = height.max(own);
            if self.take(end) {
                return Ok((values, height));
            }
            if !self.take(",") {
                return self.fault(format!("an operator, ',' or '{end}'"));
            }
        }
    }

    fn operand(&mut self) -> Checked<(Expression, usize)> {
        let place = self.place();
        let kind = match self.word().clone() {
            Word::Number(number, is_integer) => {
                self.step();
                Kind::Number(number, is_integer)
            }
            Word::Sign("(") => {
                self.step();
                let value = self.binary(0)?;
                if !self.take(")") {
                    return self.fault("an operator or ')'");
                }
                return Ok(value);
            }
            Word::Name(name) if name == "true" || name == "false" => {
                self.step();
                Kind::Truth(name == "true")
            }
            Word::Name(name) if name == "i" || name == "j" => {
                self.step();
                if !self.take(".") {
                    return self.fault(format!("'.' and a field, as in {name}.mass"));
                }
                let field = self.name("the name of a field")?;
                Kind::Field(if name == "i" { Side::I } else { Side::J }, field)
            }
            Word::Name(name) if matches!(self.ahead(1), Word::Sign("(")) => {
                self.step();
                self.step();
                let (arguments, height) = self.list(")")?;
                return Ok((Expression { place, kind: Kind::Call(name, arguments) }, height + 1));
            }
            Word::Name(_) => Kind::Name(self.name("a value")?),
            _ => return self.fault("a value: a number, a name, i.FIELD, j.FIELD, a function or '('"),
        };
        Ok((Expression { place, kind }, 1))
    }
}

/// The level at which comparisons bind.
const COMPARISON: u8 = 3;
