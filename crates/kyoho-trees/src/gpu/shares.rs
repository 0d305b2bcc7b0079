//! The shares of devices that sum the forces of one tree.

/// The least part of all sinks that a device has, so that its speed is known.
const LEAST: f64 = 0.01;

/// The seconds that a device took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// Until its tree was ready.
    pub ready: f64,
    /// For the forces on its share.
    pub seconds: f64,
}

/// The speeds of devices, from which follow the parts of all sinks that they have.
pub struct Shares {
    /// The seconds that each would take for the forces on all sinks; infinite until it is known.
    of_all: Vec<f64>,
    /// The seconds until the tree of each is ready, where it is there and where it has to be built;
    /// infinite until they are known.
    ready: [Vec<f64>; 2],
}

impl Shares {
    /// Returns equal shares.
    pub fn new(devices: usize) -> Shares {
        let unknown = || vec![f64::INFINITY; devices];
        Shares { of_all: unknown(), ready: [unknown(), unknown()] }
    }

    /// Returns the part of all sinks that each has, so that all end together. `is_new` says that
    /// they have to build their trees.
    fn parts(&self, is_new: bool) -> Vec<f64> {
        let devices = self.of_all.len();
        if self.of_all.iter().any(|seconds| seconds.is_infinite()) {
            return vec![1.0 / devices as f64; devices];
        }
        let known = |seconds: &f64| if seconds.is_finite() { *seconds } else { 0.0 };
        let each = || self.of_all.iter().zip(self.ready[usize::from(is_new)].iter().map(known));
        // Each ends after `ready + part * of_all`, and the parts make 1.
        let end =
            (1.0 + each().map(|(all, ready)| ready / all).sum::<f64>()) / each().map(|(all, _)| 1.0 / all).sum::<f64>();
        let mut parts: Vec<f64> = each().map(|(all, ready)| ((end - ready) / all).max(0.0)).collect();
        for least in [0.0, LEAST] {
            let sum: f64 = parts.iter().sum();
            parts.iter_mut().for_each(|part| *part = (*part / sum).max(least));
        }
        let sum: f64 = parts.iter().sum();
        parts.into_iter().map(|part| part / sum).collect()
    }

    /// Returns the first of so many sinks of each device, and the end of all.
    pub fn borders(&self, sinks: usize, is_new: bool) -> Vec<usize> {
        let parts = self.parts(is_new);
        let border = |device: usize| (parts[..device].iter().sum::<f64>() * sinks as f64) as usize;
        (0..parts.len()).map(border).chain([sinks]).collect()
    }

    /// Takes over the times that devices took for the sinks between these borders. Shorter ones count
    /// whole, as a call may wait for kernels that are loaded or for memory; longer ones count half.
    pub fn balance(&mut self, times: &[Times], borders: &[usize], is_new: bool) {
        let sinks = borders.last().copied().unwrap_or_default() as f64;
        let of_all = |(times, ends): (&Times, &[usize])| times.seconds * sinks / (ends[1] - ends[0]) as f64;
        let of_all: Vec<f64> = times.iter().zip(borders.windows(2)).map(of_all).collect();
        if of_all.len() != self.of_all.len() || !of_all.iter().all(|seconds| seconds.is_normal()) {
            return;
        }
        let take = |known: &mut f64, seconds: f64| *known = seconds.min(0.5 * (*known + seconds));
        self.of_all.iter_mut().zip(of_all).for_each(|(known, seconds)| take(known, seconds));
        let ready = &mut self.ready[usize::from(is_new)];
        ready.iter_mut().zip(times).for_each(|(known, times)| take(known, times.ready));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINKS: usize = 1 << 20;

    /// Lets devices that need so long for their trees, and for the forces on all sinks, sum some
    /// blocks.
    fn sum_blocks(shares: &mut Shares, devices: &[(f64, f64)], is_new: bool) {
        for _ in 0..20 {
            let borders = shares.borders(SINKS, is_new);
            let times = |((ready, all), ends): (&(f64, f64), &[usize])| {
                let part = (ends[1] - ends[0]) as f64 / SINKS as f64;
                Times { ready: *ready, seconds: part * all }
            };
            let times: Vec<Times> = devices.iter().zip(borders.windows(2)).map(times).collect();
            shares.balance(&times, &borders, is_new);
        }
    }

    /// Returns when such devices end.
    fn ends(shares: &Shares, devices: &[(f64, f64)], is_new: bool) -> Vec<f64> {
        let parts = shares.parts(is_new);
        devices.iter().zip(parts).map(|((ready, all), part)| ready + part * all).collect()
    }

    #[test]
    fn devices_come_to_end_together() {
        for devices in
            [&[(3.0, 10.0), (4.0, 12.0)][..], &[(0.0, 1.0)], &[(1.0, 5.0), (1.5, 5.0), (1.5, 5.0), (0.0, 9.0)]]
        {
            let mut shares = Shares::new(devices.len());
            sum_blocks(&mut shares, devices, true);
            let ends = ends(&shares, devices, true);
            assert!(ends.iter().all(|end| (end / ends[0] - 1.0).abs() < 1e-3), "{ends:?}");
        }
    }

    #[test]
    fn devices_end_together_also_where_their_trees_are_there() {
        let mut shares = Shares::new(2);
        let (built, there) = ([(3.0, 10.0), (4.0, 10.0)], [(0.0, 10.0), (0.0, 10.0)]);
        for _ in 0..2 {
            sum_blocks(&mut shares, &built, true);
            sum_blocks(&mut shares, &there, false);
        }
        for (devices, is_new) in [(built, true), (there, false)] {
            let ends = ends(&shares, &devices, is_new);
            assert!((ends[1] / ends[0] - 1.0).abs() < 1e-3, "{ends:?}");
        }
    }

    #[test]
    fn a_call_that_waited_for_memory_is_soon_forgotten() {
        let mut shares = Shares::new(2);
        let borders = shares.borders(SINKS, true);
        let times = |seconds: f64| [Times { ready: 0.0, seconds }, Times { ready: 0.0, seconds: 1.0 }];
        shares.balance(&times(50.0), &borders, true);
        let borders = shares.borders(SINKS, true);
        let part = borders[1] as f64 / SINKS as f64;
        let times = [Times { ready: 0.0, seconds: 2.0 * part }, Times { ready: 0.0, seconds: 2.0 * (1.0 - part) }];
        shares.balance(&times, &borders, true);
        assert!((shares.parts(true)[0] - 0.5).abs() < 1e-3, "{:?}", shares.parts(true));
    }

    #[test]
    fn a_device_that_is_late_keeps_a_little() {
        let mut shares = Shares::new(2);
        sum_blocks(&mut shares, &[(0.0, 1.0), (5.0, 1.0)], true);
        assert!((shares.parts(true)[1] - LEAST).abs() < 1e-3, "{:?}", shares.parts(true));
    }

    #[test]
    fn every_sink_belongs_to_one_device() {
        for devices in 1..9 {
            let mut shares = Shares::new(devices);
            let times: Vec<Times> = (0..devices).map(|k| Times { ready: 0.1, seconds: 1.0 + k as f64 }).collect();
            let borders = shares.borders(1000, true);
            shares.balance(&times, &borders, true);
            for sinks in [0, 1, 7, 1000, 1 << 27] {
                let borders = shares.borders(sinks, true);
                assert_eq!((borders.len(), borders[0], borders[devices]), (devices + 1, 0, sinks));
                assert!(borders.is_sorted(), "{borders:?}");
            }
        }
    }

    #[test]
    fn times_of_nothing_change_nothing() {
        let mut shares = Shares::new(2);
        let borders = shares.borders(SINKS, true);
        shares.balance(&[Times { ready: 0.0, seconds: 0.0 }, Times { ready: 1.0, seconds: 1.0 }], &borders, true);
        assert_eq!(shares.parts(true), [0.5, 0.5]);
    }
}
