//! The search for a number among the lanes of a column.

use super::{Bits, Block, Column, number};
use crate::types::Scalar;

/// The lanes that are compared together before the one that has the number is looked for.
const AT_ONCE: usize = 32;

impl Block {
    /// Returns the first of the first `count` lanes of a column that has this number, and for which the
    /// condition holds if there is one.
    pub fn find(
        &self,
        scalar: Scalar,
        column: Column,
        count: usize,
        value: Bits,
        condition: Option<Column>,
    ) -> Option<usize> {
        let is_live = |lane: usize| condition.is_none_or(|column| self.get(Scalar::Bool, column, lane)[0] != 0);
        let bytes = &self.bytes()[column.0..];
        match scalar {
            Scalar::F64 => {
                let wanted = f64::from_bits(value[0]);
                first(&bytes.as_chunks().0[..count], |number| f64::from_ne_bytes(*number) == wanted, is_live)
            }
            Scalar::F32 => {
                let wanted = f32::from_bits(value[0] as u32);
                first(&bytes.as_chunks().0[..count], |number| f32::from_ne_bytes(*number) == wanted, is_live)
            }
            _ => {
                let widened = |bits: Bits| number(scalar, bits).widened();
                let wanted = widened(value);
                (0..count).find(|lane| is_live(*lane) && widened(self.get(scalar, column, *lane)) == wanted)
            }
        }
    }
}

/// Returns the place of the first live number that is the wanted one.
#[inline(always)]
fn first<T>(numbers: &[T], is_wanted: impl Fn(&T) -> bool, is_live: impl Fn(usize) -> bool) -> Option<usize> {
    for (place, some) in numbers.chunks(AT_ONCE).enumerate() {
        // Without a branch for each lane the compiler makes vectors of this.
        if some.iter().fold(false, |is_there, number| is_there | is_wanted(number)) {
            let mut lanes = some.iter().zip(place * AT_ONCE..);
            if let Some((_, lane)) = lanes.find(|(number, lane)| is_wanted(number) && is_live(*lane)) {
                return Some(lane);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{LANES, bits, column_bytes};
    use super::*;
    use crate::number::Number;

    #[test]
    fn the_first_lane_that_counts_is_found_in_every_type() {
        let all = [Scalar::F32, Scalar::F64, Scalar::Ff, Scalar::Dd, Scalar::I32, Scalar::U32];
        for scalar in all {
            let (column, condition) = (Column(0), Column(column_bytes(scalar)));
            let mut block = Block::new(condition.0 + column_bytes(Scalar::Bool)).unwrap();
            let of = |value: i32| bits(Number::of(scalar, Number::I32(value).widened()));
            for lane in 0..LANES {
                block.set(scalar, column, lane, of((lane % 100) as i32));
                block.set(Scalar::Bool, condition, lane, bits(Number::Bool(lane >= 64)));
            }
            for (wanted, count, without, with) in [
                (0, LANES, Some(0), Some(100)),
                (63, LANES, Some(63), Some(163)),
                (64, LANES, Some(64), Some(64)),
                (64, 64, None, None),
                (7, 100, Some(7), None),
                (99, 100, Some(99), Some(99)),
                (100, LANES, None, None),
                (0, 0, None, None),
            ] {
                let find = |condition| block.find(scalar, column, count, of(wanted), condition);
                assert_eq!([find(None), find(Some(condition))], [without, with], "{scalar:?} {wanted} {count}");
            }
        }
    }

    #[test]
    fn zeros_of_both_signs_are_one_number_and_none_is_no_number() {
        for scalar in [Scalar::F32, Scalar::F64] {
            let of = |value: f64| bits(Number::of(scalar, Number::F64(value).widened()));
            let mut block = Block::new(column_bytes(scalar)).unwrap();
            (0..LANES).for_each(|lane| block.set(scalar, Column(0), lane, of(1.0)));
            block.set(scalar, Column(0), 40, of(-0.0));
            block.set(scalar, Column(0), 50, of(f64::NAN));
            assert_eq!(block.find(scalar, Column(0), LANES, of(0.0), None), Some(40));
            assert_eq!(block.find(scalar, Column(0), LANES, of(f64::NAN), None), None);
        }
    }
}
