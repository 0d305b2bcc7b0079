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

/// The parts of all sinks that devices have.
pub struct Shares(Vec<f64>);

impl Shares {
    /// Returns equal shares.
    pub fn new(devices: usize) -> Shares {
        Shares(vec![1.0 / devices as f64; devices])
    }

    /// Returns the first of so many sinks that a device has, and the end of its sinks.
    pub fn borders(&self, device: usize, sinks: usize) -> [usize; 2] {
        let border = |device: usize| match device {
            device if device == self.0.len() => sinks,
            device => (self.0[..device].iter().sum::<f64>() * sinks as f64) as usize,
        };
        [device, device + 1].map(border)
    }

    /// Brings the shares nearer to those with which all devices would have ended together, given the
    /// times that they took. They go half of the way, as times scatter.
    pub fn balance(&mut self, times: &[Times]) {
        let of_all: Vec<f64> = self.0.iter().zip(times).map(|(share, times)| times.seconds / share).collect();
        if times.len() != self.0.len() || !of_all.iter().all(|seconds| *seconds > 0.0) {
            return;
        }
        // Each ends after `ready + share * of_all`, and the shares make 1.
        let end = (1.0 + times.iter().zip(&of_all).map(|(times, all)| times.ready / all).sum::<f64>())
            / of_all.iter().map(|all| 1.0 / all).sum::<f64>();
        let mut wanted: Vec<f64> =
            times.iter().zip(&of_all).map(|(times, all)| ((end - times.ready) / all).max(0.0)).collect();
        for least in [0.0, LEAST] {
            let sum: f64 = wanted.iter().sum();
            wanted.iter_mut().for_each(|share| *share = (*share / sum).max(least));
        }
        let sum: f64 = wanted.iter().sum();
        self.0.iter_mut().zip(wanted).for_each(|(share, wanted)| *share = 0.5 * (*share + wanted / sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shares after some blocks of devices that need so long for their trees, and for
    /// the forces on all sinks.
    fn after_some_blocks(devices: &[(f64, f64)]) -> Vec<f64> {
        let mut shares = Shares::new(devices.len());
        for _ in 0..20 {
            let times = |(share, (ready, all)): (&f64, &(f64, f64))| Times { ready: *ready, seconds: share * all };
            shares.balance(&shares.0.iter().zip(devices).map(times).collect::<Vec<_>>());
        }
        shares.0
    }

    #[test]
    fn devices_come_to_end_together() {
        for devices in
            [&[(3.0, 10.0), (4.0, 12.0)][..], &[(0.0, 1.0)], &[(1.0, 5.0), (1.5, 5.0), (1.5, 5.0), (0.0, 9.0)]]
        {
            let shares = after_some_blocks(devices);
            let ends: Vec<f64> = shares.iter().zip(devices).map(|(share, (ready, all))| ready + share * all).collect();
            assert!(ends.iter().all(|end| (end / ends[0] - 1.0).abs() < 1e-3), "{ends:?}");
        }
    }

    #[test]
    fn a_device_that_is_late_keeps_a_little() {
        let shares = after_some_blocks(&[(0.0, 1.0), (5.0, 1.0)]);
        assert!((shares[1] - LEAST).abs() < 1e-3, "{shares:?}");
    }

    #[test]
    fn every_sink_belongs_to_one_device() {
        for devices in 1..9 {
            let mut shares = Shares::new(devices);
            shares.balance(&(0..devices).map(|k| Times { ready: 0.1, seconds: 1.0 + k as f64 }).collect::<Vec<_>>());
            for sinks in [0, 1, 7, 1000, 1 << 27] {
                let borders: Vec<[usize; 2]> = (0..devices).map(|device| shares.borders(device, sinks)).collect();
                assert_eq!((borders[0][0], borders[devices - 1][1]), (0, sinks));
                assert!(borders.windows(2).all(|pair| pair[0][1] == pair[1][0]), "{borders:?}");
            }
        }
    }

    #[test]
    fn times_of_nothing_change_nothing() {
        let mut shares = Shares::new(2);
        shares.balance(&[Times { ready: 0.0, seconds: 0.0 }, Times { ready: 1.0, seconds: 1.0 }]);
        assert_eq!(shares.0, [0.5, 0.5]);
    }
}
