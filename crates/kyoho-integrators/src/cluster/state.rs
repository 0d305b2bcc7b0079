//! The state of a cluster as bytes, from which another one goes on with the same bits.

use std::collections::HashMap;

use crate::body::{Body, Vector};
use crate::fields::{Centre, Field};
use crate::groups::{Groups, MOST_GROUPS, Member};
use crate::laws::Law;
use crate::subsystems::Subsystem;
use kyoho_core::{Error, Result, memory};
use kyoho_few_body::System as FewBodies;

use super::{BODIES, Change, Cluster};

/// The first word of a state, which names its form.
const FORM: u64 = u64::from_le_bytes(*b"kyoho  8");
/// The words before the bodies: the form, the order, the number of bodies, the time, whether bodies
/// have changed since their forces were computed, the number of fields, that of laws, that of
/// subsystems, the distance at which these form, and the number of groups. The fields follow the bodies,
/// each with the length of its text, the text in whole words, the number of its numbers, these, the
/// number of the nodes of its centre, the number of their numbers, and these. A law has a text and
/// numbers too, and then its groups. The subsystems follow, and then each group: its softening, which of
/// the first one is that of the options, and the groups that it feels, a bit for each.
const HEAD: usize = 10;
/// The words of a subsystem before its members: their number, whether others are near, and the 26 numbers
/// of the centre of mass.
const OF_SUBSYSTEM: usize = 28;
/// The words of a member: its place, its position, its velocity, and its mass, which is that of the body
/// until this is changed.
const OF_MEMBER: usize = 8;
/// The words of a group.
const OF_GROUP: usize = 2;
/// The words of a body: its identifier, its group, the softening of its own, its radius, and its 26
/// numbers.
const WORDS: usize = 30;
/// The word in place of the softening of a body that has none of its own.
const NO_SOFTENING: u64 = u64::MAX;
/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// The bodies of a state.
struct BodiesOfState {
    identifiers: Vec<i64>,
    radii: Vec<f64>,
    all: Vec<Body>,
    of_bodies: Vec<Member>,
    /// The place of each identifier.
    places: HashMap<i64, usize>,
}

impl Cluster {
    /// Returns the bytes of [`Cluster::state`].
    pub fn state_size(&self) -> usize {
        let of_field = |field: &Field| {
            let of_centre = field.centre().map_or(0, |centre| centre.numbers().count());
            2 + words_of(field.given(), field.numbers()) + of_centre
        };
        let of_law = |law: &Law| 1 + words_of(law.text(), law.numbers());
        let of_subsystem = |subsystem: &Subsystem| OF_SUBSYSTEM + OF_MEMBER * subsystem.members.len();
        let of_subsystems: usize = self.subsystems().0.iter().map(of_subsystem).sum();
        let of_fields: usize = self.fields().iter().map(of_field).sum();
        let of_laws: usize = self.laws().iter().map(of_law).sum();
        let of_groups = OF_GROUP * self.groups.count();
        WORD * (HEAD + WORDS * self.identifiers.len() + of_fields + of_laws + of_subsystems + of_groups)
    }

    /// Returns the bodies with their time, their steps, the derivatives that the integrator has of
    /// them, the fields, the laws and the subsystems. There is none with a field that is a function.
    pub fn state(&self) -> Result<Vec<u8>> {
        if self.integrator.fields().has_functions() {
            return Err(wrong("a field of the state", "a function", "built-in fields and texts"));
        }
        let mut bytes = memory::room(self.state_size(), "the state of an integrator")?;
        let mut put = |word: u64| bytes.extend_from_slice(&word.to_le_bytes());
        let [count, fields] = [self.identifiers.len(), self.fields().len()].map(|count| count as u64);
        let (subsystems, radius) = self.subsystems();
        let head = [FORM, self.setup.order as u64, count, self.time.to_bits(), u64::from(self.is_changed), fields];
        let laws = self.laws().len() as u64;
        let more = [laws, subsystems.len() as u64, radius.to_bits(), self.groups.count() as u64];
        head.into_iter().chain(more).for_each(&mut put);
        let named = self.identifiers.iter().zip(&self.radii);
        for (place, ((identifier, radius), body)) in named.zip(self.bodies()).enumerate() {
            let Member { group, own_softening } = self.groups.member(place);
            let softening = own_softening.map_or(NO_SOFTENING, f64::to_bits);
            [identifier.cast_unsigned(), group.into(), softening].into_iter().for_each(&mut put);
            [*radius].into_iter().chain(numbers(body)).for_each(|number| put(number.to_bits()));
        }
        for field in self.fields() {
            put_text(&mut put, field.given(), field.numbers());
            put(field.centre().map_or(0, Centre::nodes) as u64);
            put(field.centre().map_or(0, |centre| centre.numbers().count()) as u64);
            field.centre().into_iter().flat_map(Centre::numbers).for_each(|number| put(number.to_bits()));
        }
        for law in self.laws() {
            put_text(&mut put, law.text(), law.numbers());
            let [on, by] = law.groups().map(u64::from);
            put(on | by << u16::BITS);
        }
        for Subsystem { members, centre, inner, is_close, .. } in subsystems {
            [members.len() as u64, u64::from(*is_close)].into_iter().for_each(&mut put);
            numbers(centre).for_each(|number| put(number.to_bits()));
            for (row, member) in members.iter().enumerate() {
                put(*member as u64);
                [inner.positions[row], inner.velocities[row]].as_flattened().iter().for_each(|x| put(x.to_bits()));
                put(inner.masses[row].to_bits());
            }
        }
        for group in 0..self.groups.count() {
            put(self.groups.softening(group).to_bits());
            put(self.groups.felt_by(group).into());
        }
        Ok(bytes)
    }

    /// Goes on from a state, in place of the bodies and fields that are there. Nothing is changed if
    /// the bytes are no state of an integrator of this order.
    pub fn set_state(&mut self, bytes: &[u8]) -> Result<()> {
        let (words, rest) = bytes.as_chunks::<WORD>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let [form, order, count, time, is_changed, fields, laws, subsystems, radius, group_count] =
            std::array::from_fn(|_| words.next().unwrap_or(0));
        let is_wrong = || wrong("the state", bytes.len(), "the bytes that kyoho_integrator_state gave, all of them");
        let bodies = usize::try_from(count).ok().filter(|bodies| *bodies <= words.len() / WORDS);
        let Some(bodies) = bodies.filter(|_| bytes.len() >= WORD * HEAD && rest.is_empty()) else {
            return Err(is_wrong());
        };
        let Some(group_count) = usize::try_from(group_count).ok().filter(|count| (1..=MOST_GROUPS).contains(count))
        else {
            return Err(is_wrong());
        };
        let has_more = fields > 0 || laws > 0 || subsystems > 0;
        let of_groups = OF_GROUP * group_count;
        if form != FORM || is_changed > 1 || (!has_more && words.len() != bodies * WORDS + of_groups) {
            return Err(is_wrong());
        }
        if order != self.setup.order as u64 {
            return Err(wrong("the order of the state", order, &format!("{}, as here", self.setup.order as u64)));
        }
        let time = f64::from_bits(time);
        if !time.is_finite() {
            return Err(Error::NotFinite { what: "the time of the state".into(), value: time });
        }
        let BodiesOfState { identifiers, radii, all, of_bodies, places } =
            self.bodies_of_state(&mut words, bodies, is_changed == 1, group_count)?;
        let mut known = Vec::new();
        for _ in 0..fields {
            let field = self.field(&mut words).ok_or_else(is_wrong)??;
            memory::push(&mut known, field, "fields")?;
        }
        let mut known_laws = Vec::new();
        for _ in 0..laws {
            let law = self.law(&mut words).ok_or_else(is_wrong)??;
            memory::push(&mut known_laws, law, "laws")?;
        }
        let mut found = Vec::new();
        for _ in 0..subsystems {
            let subsystem = subsystem(&mut words, bodies).ok_or_else(is_wrong)??;
            memory::push(&mut found, subsystem, SUBSYSTEM)?;
        }
        if words.len() != of_groups {
            return Err(is_wrong());
        }
        let mut groups = self.groups_of_state(&mut words, group_count)?;
        groups.reserve(bodies)?;
        of_bodies.iter().for_each(|member| groups.push(*member));
        if groups.has_own_softenings() && !self.knows_own_softenings() {
            let allowed = "those of groups, for an integrator with subsystems";
            return Err(wrong("the softenings of bodies in the state", "of their own", allowed));
        }
        let radius = f64::from_bits(radius);
        if !(radius >= 0.0 && radius.is_finite() && are_apart(&found, bodies)?) {
            return Err(is_wrong());
        }
        if subsystems > 0 && !self.integrator.has_subsystems() {
            let name = "the subsystems of the state";
            return Err(wrong(name, subsystems, "0, for an integrator that was made without subsystems"));
        }
        self.require_no_subsystems_with(known_laws.len())?;
        let known_laws = self.integrator.laws().made(known_laws)?;
        self.integrator.resume(all, found, radius)?;
        self.integrator.laws_mut().take(known_laws);
        self.integrator.fields_mut().replace(known);
        (self.time, self.identifiers, self.radii, self.places) = (time, identifiers, radii, places);
        (self.is_changed, self.has_other_radii, self.has_other_groups) = (is_changed == 1, true, true);
        self.groups = groups;
        self.encounters.clear();
        Ok(())
    }

    /// Reads so many bodies of a state, which are in some of so many groups.
    fn bodies_of_state(
        &self,
        words: &mut impl Iterator<Item = u64>,
        bodies: usize,
        is_changed: bool,
        group_count: usize,
    ) -> Result<BodiesOfState> {
        let mut identifiers = memory::room(bodies, BODIES)?;
        let mut radii = memory::room(bodies, BODIES)?;
        let mut all = memory::room(bodies, BODIES)?;
        let mut of_bodies = memory::room(bodies, BODIES)?;
        let mut places = HashMap::new();
        places.try_reserve(bodies).map_err(|_| memory::none::<(i64, usize)>(bodies, BODIES))?;
        for place in 0..bodies {
            let identifier = words.next().unwrap_or(0).cast_signed();
            let group = usize::try_from(words.next().unwrap_or(0)).unwrap_or(usize::MAX);
            let own_softening = words.next().filter(|word| *word != NO_SOFTENING).map(f64::from_bits);
            let mut number = || f64::from_bits(words.next().unwrap_or(0));
            let radius = number();
            let Body { step, mass, position, velocity, derivatives } = body(&mut number);
            let numbers = Change {
                mass: Some(mass),
                position: Some(position),
                velocity: Some(velocity),
                radius: Some(radius),
                softening: own_softening,
                ..Change::default()
            };
            numbers.check(identifier, &self.groups)?;
            let has_step = step > 0.0 || (step == 0.0 && is_changed);
            let are_finite = derivatives.iter().flatten().all(|number: &f64| number.is_finite()) && step.is_finite();
            let is_alone = places.insert(identifier, place).is_none();
            if !is_alone || !has_step || !are_finite || group >= group_count {
                let name = format!("the state of body {identifier}");
                return Err(wrong(&name, "damaged", "finite numbers, a step above 0, and one body of an identifier"));
            }
            identifiers.push(identifier);
            radii.push(radius);
            of_bodies.push(Member { own_softening, ..Member::of(group) });
            all.push(Body { step, mass, position, velocity, derivatives });
        }
        Ok(BodiesOfState { identifiers, radii, all, of_bodies, places })
    }

    /// Reads so many groups of a state, still without bodies.
    fn groups_of_state(&self, words: &mut impl Iterator<Item = u64>, count: usize) -> Result<Groups> {
        let mut groups = Groups::one(self.choices.softening);
        let mut felt = [0; MOST_GROUPS];
        for (group, felt) in felt.iter_mut().enumerate().take(count) {
            let softening = f64::from_bits(words.next().unwrap_or(0));
            *felt = words.next().unwrap_or(0);
            if *felt >> count != 0 {
                return Err(wrong("the groups of the state", "damaged", "a bit for each group that is felt"));
            }
            if group > 0 {
                groups.add(softening)?;
            }
        }
        for (group, felt) in felt.into_iter().enumerate().take(count) {
            (0..count).for_each(|other| groups.set_feels(group, other, felt >> other & 1 == 1));
        }
        self.require_plain_groups(&groups)?;
        Ok(groups)
    }

    /// Reads a field of a state; `None` if it is not whole.
    fn field(&self, words: &mut impl ExactSizeIterator<Item = u64>) -> Option<Result<Field>> {
        let found = text(words)?;
        let mut next = || words.next().and_then(|count| usize::try_from(count).ok());
        let (nodes, of_centre) = (next()?, next()?);
        let is_centre = [nodes.checked_mul(4), nodes.checked_mul(7)].contains(&Some(of_centre));
        if !is_centre || of_centre > words.len() {
            return None;
        }
        let of_centre = memory::collected(words.by_ref().take(of_centre).map(f64::from_bits), TEXT);
        let (order, level) = (self.setup.order, self.setup.level);
        Some(found.and_then(|(text, numbers)| {
            let centre = if nodes == 0 { None } else { Some(Centre::from_numbers(&of_centre?, nodes)?) };
            Ok(Field::with_numbers(&text, &numbers, order, level)?.with_centre(centre))
        }))
    }

    /// Reads a law of a state; `None` if it is not whole.
    fn law(&self, words: &mut impl ExactSizeIterator<Item = u64>) -> Option<Result<Law>> {
        let found = text(words)?;
        let groups = words.next().filter(|groups| groups >> (2 * u16::BITS) == 0)?;
        let groups = [groups as u16, (groups >> u16::BITS) as u16];
        let order = self.setup.order;
        Some(found.and_then(|(text, numbers)| Law::with_numbers(&text, &numbers, groups, order)))
    }
}

/// Returns the words of a text and of its numbers.
fn words_of(text: &str, numbers: &[f64]) -> usize {
    2 + text.len().div_ceil(WORD) + numbers.len()
}

fn put_text(put: &mut impl FnMut(u64), text: &str, numbers: &[f64]) {
    put(text.len() as u64);
    for part in text.as_bytes().chunks(WORD) {
        let mut word = [0; WORD];
        word[..part.len()].copy_from_slice(part);
        put(u64::from_le_bytes(word));
    }
    put(numbers.len() as u64);
    numbers.iter().for_each(|number| put(number.to_bits()));
}

/// Reads a text and its numbers; `None` if they are not whole.
fn text(words: &mut impl ExactSizeIterator<Item = u64>) -> Option<Result<(String, Vec<f64>)>> {
    let length = words.next().and_then(|length| usize::try_from(length).ok())?;
    if length.div_ceil(WORD) >= words.len() {
        return None;
    }
    let text = memory::collected(words.by_ref().take(length.div_ceil(WORD)).flat_map(u64::to_le_bytes), TEXT);
    let count = words.next().and_then(|count| usize::try_from(count).ok())?;
    if count > words.len() {
        return None;
    }
    let numbers = memory::collected(words.by_ref().take(count).map(f64::from_bits), TEXT);
    Some(text.and_then(|mut text| {
        text.truncate(length);
        let text = String::from_utf8(text).map_err(|_| wrong(TEXT, "damaged", "text in UTF-8"))?;
        Ok((text, numbers?))
    }))
}

const TEXT: &str = "a field or a law of the state";
const SUBSYSTEM: &str = "a subsystem of the state";

/// Returns the numbers of a body.
fn numbers(body: &Body) -> impl Iterator<Item = f64> {
    let Body { step, mass, position, velocity, derivatives } = *body;
    [step, mass].into_iter().chain([position, velocity].into_iter().chain(derivatives).flatten())
}

/// Returns the body of numbers.
fn body(number: &mut impl FnMut() -> f64) -> Body {
    let (step, mass) = (number(), number());
    let mut vector = || -> Vector { std::array::from_fn(|_| number()) };
    let (position, velocity) = (vector(), vector());
    Body { step, mass, position, velocity, derivatives: std::array::from_fn(|_| vector()) }
}

/// Reads a subsystem of some of so many bodies; `None` if it is not whole.
fn subsystem(words: &mut impl ExactSizeIterator<Item = u64>, bodies: usize) -> Option<Result<Subsystem>> {
    let count = words.next().and_then(|count| usize::try_from(count).ok())?;
    let is_close = words.next().filter(|is_close| *is_close <= 1)? == 1;
    if count < 2 || OF_MEMBER.checked_mul(count)?.checked_add(OF_SUBSYSTEM - 2)? > words.len() {
        return None;
    }
    let centre = body(&mut || f64::from_bits(words.next().unwrap_or(0)));
    if !numbers(&centre).all(f64::is_finite) || centre.step < 0.0 || centre.mass <= 0.0 {
        return None;
    }
    Some(members(words, bodies, count).and_then(|(members, inner)| {
        let members = members.ok_or_else(|| wrong(SUBSYSTEM, "damaged", "bodies of the state, and finite numbers"))?;
        Ok(Subsystem { members, centre, inner, is_close, ..Subsystem::default() })
    }))
}

/// Reads the members of a subsystem, `None` if they are wrong.
fn members(
    words: &mut impl Iterator<Item = u64>,
    bodies: usize,
    count: usize,
) -> Result<(Option<Vec<usize>>, FewBodies)> {
    let mut places = memory::room(count, SUBSYSTEM)?;
    let room = || memory::room(count, SUBSYSTEM);
    let mut inner = FewBodies {
        masses: memory::room(count, SUBSYSTEM)?,
        positions: room()?,
        velocities: room()?,
        radii: Vec::new(),
    };
    let mut is_right = true;
    for _ in 0..count {
        let place = words.next().and_then(|place| usize::try_from(place).ok()).unwrap_or(usize::MAX);
        let mut vector = || -> Vector { std::array::from_fn(|_| f64::from_bits(words.next().unwrap_or(0))) };
        let (position, velocity) = (vector(), vector());
        let mass = words.next().map_or(0.0, f64::from_bits);
        is_right &= place < bodies && mass >= 0.0 && mass.is_finite();
        is_right &= [position, velocity].as_flattened().iter().all(|x| x.is_finite());
        places.push(place);
        inner.masses.push(mass);
        inner.positions.push(position);
        inner.velocities.push(velocity);
    }
    Ok((is_right.then_some(places), inner))
}

/// Whether no body is in two subsystems.
fn are_apart(subsystems: &[Subsystem], bodies: usize) -> Result<bool> {
    let mut is_member = memory::filled(bodies, false, SUBSYSTEM)?;
    let mut members = subsystems.iter().flat_map(|subsystem| &subsystem.members);
    Ok(members.all(|member| !std::mem::replace(&mut is_member[*member], true)))
}

fn wrong(name: &str, value: impl ToString, allowed: &str) -> Error {
    Error::BadOption { name: name.into(), value: value.to_string(), allowed: allowed.into() }
}
