//! The arguments of the kernels of sinks and of the walk, by the names of their parameters.

use bytemuck::bytes_of;

use kyoho_hal::gpu::Argument;

/// Memory that a kernel gets.
type Memory<A> = Argument<'static, A>;

/// A value that kernels get.
trait Value<A> {
    /// How its type begins in the text of a kernel.
    #[cfg(test)]
    const TYPE: &'static str;

    /// Returns the argument of a launch.
    fn argument(&self) -> Argument<'_, A>;
}

impl<A: Copy> Value<A> for Memory<A> {
    #[cfg(test)]
    const TYPE: &'static str = "GLOBAL";

    fn argument(&self) -> Argument<'_, A> {
        *self
    }
}

macro_rules! number {
    ($number:ty, $name:literal) => {
        impl<A> Value<A> for $number {
            #[cfg(test)]
            const TYPE: &'static str = $name;

            fn argument(&self) -> Argument<'_, A> {
                Argument::Bytes(bytes_of(self))
            }
        }
    };
}

number!(i32, "int");
number!(u32, "uint");
number!(f32, "float");
number!(f64, "double");

/// What kernels get in a turn. The memories whose names begin with `sink` are of the tree of the
/// sinks, as are `parents`, `leaves` and `found`.
#[derive(Clone, Copy)]
pub(super) struct Arguments<A> {
    pub cells: Memory<A>,
    pub highs: Memory<A>,
    pub lows: Memory<A>,
    pub places: Memory<A>,
    pub reaches: Memory<A>,
    pub moments: Memory<A>,
    pub frame: Memory<A>,
    pub sink_cells: Memory<A>,
    pub sink_highs: Memory<A>,
    pub sink_lows: Memory<A>,
    pub sink_places: Memory<A>,
    pub sink_numbers: Memory<A>,
    pub parents: Memory<A>,
    pub leaves: Memory<A>,
    pub found: Memory<A>,
    pub chosen_cells: Memory<A>,
    pub counts: Memory<A>,
    pub totals: Memory<A>,
    pub sinks: Memory<A>,
    pub numbers: Memory<A>,
    pub sink_counts: Memory<A>,
    pub fields: Memory<A>,
    pub field_heads: Memory<A>,
    pub far_heads: Memory<A>,
    pub near_heads: Memory<A>,
    pub lists: Memory<A>,
    pub used: Memory<A>,
    pub parts: Memory<A>,
    pub accelerations: Memory<A>,
    pub ratios: Memory<A>,
    pub alike: Memory<A>,
    pub groups: Memory<A>,
    pub locals: Memory<A>,
    pub far_sums: Memory<A>,
    pub forces: Memory<A>,
    pub owns: Memory<A>,
    pub own_firsts: Memory<A>,
    pub own_nexts: Memory<A>,
    pub seen_sinks: Memory<A>,
    pub own_kind: i32,
    /// The ends of the share among the sorted bodies.
    pub begin: u32,
    pub end: u32,
    /// The number of the sinks' bodies.
    pub bodies: u32,
    /// The number of sinks of the turns before.
    pub done: u32,
    /// Whether not all bodies are sinks.
    pub are_some: i32,
    /// Whether the sinks are groups.
    pub of_groups: i32,
    pub level: i32,
    pub by_angle: i32,
    pub adds: i32,
    pub is_sorted: i32,
    /// The cell of sources with which walks begin.
    pub root: u32,
    pub room: u32,
    pub room_of_groups: u32,
    pub room_of_parts: u32,
    pub list_room: u32,
    pub tolerance: f32,
    pub cut2: f32,
    pub variation: f32,
    pub softening2: f64,
    pub mass_factor: f64,
}

/// A field of the arguments, which has the name of the parameter if it is given no other.
macro_rules! field {
    ($all:ident, $parameter:ident) => {
        $all.$parameter
    };
    ($all:ident, $parameter:ident $field:ident) => {
        $all.$field
    };
}

/// Names the parameters of each kernel in their order, with the fields that they get.
macro_rules! kernels {
    ($($kernel:ident($($parameter:ident $(: $field:ident)?),* $(,)?);)*) => {
        impl<A: Copy> Arguments<A> {
            $(pub fn $kernel(&self) -> [Argument<'_, A>; [$(stringify!($parameter)),*].len()] {
                [$(Value::<A>::argument(&field!(self, $parameter $($field)?))),*]
            })*
        }

        /// The types and names of the parameters of each kernel.
        #[cfg(test)]
        fn parameters() -> Vec<(&'static str, Vec<[&'static str; 2]>)> {
            fn type_of<T: Value<u64>>(_: fn(&Arguments<u64>) -> &T) -> &'static str {
                T::TYPE
            }
            vec![$((
                stringify!($kernel),
                vec![$([type_of(|all| &field!(all, $parameter $($field)?)), stringify!($parameter)]),*],
            )),*]
        }
    };
}

kernels! {
    count_sinks(
        cells: sink_cells, parents, leaves, groups, sink_numbers, chosen_cells, counts, found, begin, end, bodies,
        are_some, of_groups
    );
    place_sinks(
        cells: sink_cells, parents, leaves, groups, sink_numbers, chosen_cells, counts, totals, sinks, numbers,
        sink_counts, found, begin, end, bodies, room, room_of_groups, are_some, of_groups
    );
    find_fields(
        cells: sink_cells, leaves, highs: sink_highs, lows: sink_lows, sink_places, places, reaches, sinks, numbers,
        sink_counts, fields, heads: field_heads, lists, used, accelerations, ratios, frame,
        softening2_given: softening2, root, room, list_room, level
    );
    find_groups(cells: sink_cells, sink_places, ratios, alike, found, variation);
    choose_groups(cells: sink_cells, parents, alike, groups, found);
    find_interactions(
        sink_places, sink_highs, sink_lows, sink_numbers, places, reaches, sinks, numbers, sink_counts, far_heads,
        near_heads, lists, used, parts, accelerations, frame, softening2_given: softening2, tolerance, cut2, by_angle,
        root, room, list_room, room_of_parts, level
    );
    add_far(
        sink_places, sink_highs, sink_lows, places, moments, sinks, sink_counts, far_heads, lists, locals, frame,
        softening2_given: softening2, room
    );
    shift_locals(sink_places, sink_highs, sink_lows, sinks, numbers, sink_counts, locals, room, level);
    find_forces(sink_places, sink_highs, sink_lows, sink_numbers, sinks, sink_counts, locals, far_sums, room);
    add_near(
        cells, places, sink_places, sink_highs, sink_lows, sink_numbers, highs, lows, sinks, sink_counts, near_heads,
        lists, used, parts, far_sums, forces, frame, softening2_given: softening2, mass_factor, room, room_of_parts,
        adds, is_sorted, done, owns, own_firsts, seen_sinks, own_kind
    );
    join_parts(
        sink_highs, sink_numbers, sinks, sink_counts, near_heads, lists, used, parts, far_sums, forces, frame,
        softening2_given: softening2, mass_factor, room, room_of_parts, adds, is_sorted, done, seen_sinks, own_kind
    );
    leave_out_far(
        cells, places, sink_highs, sink_lows, sink_numbers, highs, lows, sinks, sink_counts, near_heads, lists, forces,
        frame, softening2_given: softening2, mass_factor, room, owns, own_nexts, seen_sinks, own_kind
    );
}

#[cfg(test)]
mod tests {
    use super::parameters;
    use kyoho_methods::gpu::code::{SOURCE_OF_EXPANSIONS, SOURCE_OF_TREES};

    /// Returns the types and names of the parameters of a kernel, as its text has them.
    fn declared<'a>(text: &'a str, kernel: &str) -> Option<Vec<[&'a str; 2]>> {
        let (_, rest) = text.split_once(&format!("\n{kernel}("))?;
        let (list, _) = rest.split_once(')')?;
        let parameter = |declared: &'a str| {
            let mut words = declared.split(|c: char| c.is_whitespace() || c == '*').filter(|word| !word.is_empty());
            let first = words.next().unwrap();
            [first, words.next_back().unwrap()]
        };
        Some(list.split(',').map(parameter).collect())
    }

    #[test]
    fn kernels_get_the_parameters_that_their_texts_declare() {
        for (kernel, given) in parameters() {
            let text = [SOURCE_OF_TREES, SOURCE_OF_EXPANSIONS].into_iter().find_map(|text| declared(text, kernel));
            assert_eq!(given, text.unwrap_or_else(|| panic!("no text has the kernel {kernel}")), "{kernel}");
        }
    }
}
