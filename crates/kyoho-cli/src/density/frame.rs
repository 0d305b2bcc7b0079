//! A frame round a picture, with coordinates at its left and below.

use super::FRAME;
use super::region::Region;

/// The width and the height of a letter in dots.
const LETTER: [usize; 2] = [5, 7];

/// The rows of the letters in coordinates, from the top, with the leftmost dot in the highest bit.
const LETTERS: [(char, [u8; 7]); 17] = [
    ('0', [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110]),
    ('1', [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110]),
    ('2', [0b01110, 0b10001, 0b00001, 0b00110, 0b01000, 0b10000, 0b11111]),
    ('3', [0b01110, 0b10001, 0b00001, 0b00110, 0b00001, 0b10001, 0b01110]),
    ('4', [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010]),
    ('5', [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110]),
    ('6', [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110]),
    ('7', [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000]),
    ('8', [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110]),
    ('9', [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100]),
    ('-', [0, 0, 0, 0b01110, 0, 0, 0]),
    ('.', [0, 0, 0, 0, 0, 0b01100, 0b01100]),
    ('e', [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110]),
    ('x', [0, 0, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001]),
    ('y', [0, 0, 0b10001, 0b10001, 0b01111, 0b00001, 0b01110]),
    ('z', [0, 0, 0b11111, 0b00010, 0b00100, 0b01000, 0b11111]),
    (' ', [0; 7]),
];

/// The least number of marks on a side.
const MARKS: f64 = 4.0;

/// A picture of colour numbers, by rows from the top.
struct Canvas {
    side: usize,
    numbers: Vec<u8>,
}

impl Canvas {
    fn dot(&mut self, [x, y]: [usize; 2]) {
        if x < self.side && y < self.side {
            self.numbers[y * self.side + x] = FRAME;
        }
    }

    fn rectangle(&mut self, [x, y]: [usize; 2], [width, height]: [usize; 2]) {
        (y..y + height).for_each(|y| (x..x + width).for_each(|x| self.dot([x, y])));
    }

    /// Draws a text whose first letter has its upper left corner here, with dots of this size.
    fn text(&mut self, [x, y]: [usize; 2], text: &str, dot: usize) {
        for (place, letter) in text.chars().enumerate() {
            let rows = LETTERS.iter().find(|(known, _)| *known == letter).map_or([0; 7], |(_, rows)| *rows);
            for (row, bits) in rows.iter().enumerate() {
                for column in (0..LETTER[0]).filter(|column| bits >> (LETTER[0] - 1 - column) & 1 == 1) {
                    let left = x + (place * (LETTER[0] + 1) + column) * dot;
                    self.rectangle([left, y + row * dot], [dot; 2]);
                }
            }
        }
    }
}

/// Returns the width of a text.
fn width(text: &str, dot: usize) -> usize {
    (text.chars().count() * (LETTER[0] + 1)).saturating_sub(1) * dot
}

/// Returns the round numbers between two, at least [`MARKS`] where they differ, and their distance.
fn marks(from: f64, to: f64) -> (Vec<f64>, f64) {
    let decade = 10f64.powf(((to - from) / MARKS).log10().floor());
    let step = [5.0, 2.0, 1.0].map(|times| times * decade).into_iter().find(|step| MARKS * step <= to - from);
    let step = step.unwrap_or(decade);
    let (first, last) = ((from / step).ceil(), (to / step).floor());
    let count = (last - first).clamp(0.0, 20.0) as usize;
    ((0..=count).map(|number| (first + number as f64) * step).collect(), step)
}

/// Returns a coordinate with the digits that tell it from the next mark.
fn label(number: f64, step: f64) -> String {
    let digits = -step.log10().floor();
    if number == 0.0 {
        "0".into()
    } else if (-4.0..=4.0).contains(&digits) && number.abs() < 1e6 {
        format!("{number:.*}", digits.max(0.0) as usize)
    } else {
        let leading = (number.abs().log10().floor() - step.log10().floor()).clamp(0.0, 15.0);
        format!("{number:.*e}", leading as usize)
    }
}

/// Returns a square picture with a frame round it, and the pixels of its side.
pub fn drawn(numbers: &[u8], region: &Region) -> (Vec<u8>, usize) {
    let inner = region.pixels;
    let dot = (inner / 400).max(1);
    let tick = 4 * dot;
    let ends = |k: usize| [-0.5, 0.5].map(|part| region.centre[k] + part * region.width);
    let labels = |k: usize| {
        let [from, to] = ends(k);
        let (marks, step) = marks(from, to);
        let part = move |mark: f64| (mark - from) / (to - from);
        marks.into_iter().map(move |mark| (part(mark), label(mark, step))).collect::<Vec<_>>()
    };
    let [across, upward] = region.axes.map(labels);
    let name = |k: usize| ["x", "y", "z"][k];
    let widest = upward.iter().map(|(_, label)| width(label, dot)).max().unwrap_or(0).max(width("x", dot));
    // The same on all sides, so that the picture stays a square.
    let border = (widest + 2 * tick + 2 * dot).max(LETTER[1] * 2 * dot + 3 * tick);
    let side = inner + 2 * border;
    let mut canvas = Canvas { side, numbers: vec![0; side * side] };
    for (row, content) in numbers.chunks(inner).enumerate() {
        canvas.numbers[(row + border) * side + border..][..inner].copy_from_slice(content);
    }
    let low = border + inner;
    for start in [[border - dot, border - dot], [border - dot, low]] {
        canvas.rectangle(start, [inner + 2 * dot, dot]);
    }
    for start in [[border - dot, border], [low, border]] {
        canvas.rectangle(start, [dot, inner]);
    }
    for (part, label) in across {
        let x = border + (part * inner as f64) as usize;
        canvas.rectangle([x, low + dot], [dot, tick]);
        canvas.text([x.saturating_sub(width(&label, dot) / 2), low + 2 * tick], &label, dot);
    }
    for (part, label) in upward {
        let y = low - (part * inner as f64) as usize;
        canvas.rectangle([border - dot - tick, y], [tick, dot]);
        let left = (border - 2 * tick).saturating_sub(width(&label, dot));
        canvas.text([left, y.saturating_sub(LETTER[1] * dot / 2)], &label, dot);
    }
    let [right, up] = region.axes.map(name);
    canvas.text([low - width(right, dot), low + 2 * tick + (LETTER[1] + 2) * dot], right, dot);
    canvas.text([border - dot, border - 2 * tick - LETTER[1] * dot], up, dot);
    (canvas.numbers, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(marks(-1.0, 1.0), (vec![-1.0, -0.5, 0.0, 0.5, 1.0], 0.5));
        assert_eq!(marks(-7.0, 8.0), (vec![-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0], 2.0));
        assert_eq!(marks(1e6 - 1.0, 1e6 + 1.0).0.len(), 5);
        for (from, to) in [(-3.0, 4.0), (0.1, 0.2), (-1e-9, 3e-9), (5e20, 9e20), (1.0, 1.0 + 1e-12)] {
            let (marks, _) = marks(from, to);
            assert!((4..=11).contains(&marks.len()) && marks[0] >= from - 1e-15 * from.abs(), "{from} {to}: {marks:?}");
        }
    }

    #[test]
    fn labels_have_the_digits_that_tell_marks_apart() {
        let labels = [(0.5, 0.5), (-1.0, 0.5), (20.0, 5.0), (0.0, 0.1), (2e-9, 1e-9), (1.5e9, 5e8), (999999.5, 0.5)];
        let found = labels.map(|(number, step)| label(number, step));
        assert_eq!(found, ["0.5", "-1.0", "20", "0", "2e-9", "1.5e9", "999999.5"]);
        let known = |label: &String| label.chars().all(|letter| LETTERS.iter().any(|(known, _)| *known == letter));
        assert!(found.iter().all(known));
    }

    #[test]
    fn a_frame_leaves_the_picture_in_its_middle() {
        let region = Region { centre: [0.0; 3], width: 2.0, axes: [0, 2], pixels: 60 };
        let (numbers, side) = drawn(&[7; 60 * 60], &region);
        assert_eq!(numbers.len(), side * side);
        let border = (side - 60) / 2;
        for (place, number) in numbers.iter().enumerate() {
            let inside = [place / side, place % side].iter().all(|k| (border..border + 60).contains(k));
            assert_eq!(*number == 7, inside, "{place}");
        }
        assert!(numbers.contains(&FRAME));
    }
}
