//! Bodies that stay on the device while they move, so that a step brings nothing to the host.

use kyoho_core::{DeviceForces, DevicePlace, MAX_DERIVATIVES, Result, TreeBlock};
use kyoho_methods::device_arrays::Motion;

use super::device_arrays::arrays_of;
use super::staging::{KeptSinks, Kind, Places};
use super::{SinkPlace, System};

/// A body that a device moves. Its index is its number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovingBody {
    /// The mass as a source.
    pub mass: f64,
    /// The position.
    pub position: [f64; 3],
    /// The velocity.
    pub velocity: [f64; 3],
    /// The acceleration.
    pub acceleration: [f64; 3],
}

impl System {
    /// Forgets bodies that were moving on the device, whose place others take.
    pub(super) fn forget_moving(&mut self) {
        self.moving.is_current = false;
    }

    /// Brings bodies to the device, to be moved there. Returns false where the system's devices do
    /// not move bodies: CPUs, several GPUs without a tree, orders above 2, and few bodies.
    pub fn keep_moving(&mut self, count: usize, body: impl Fn(usize) -> MovingBody + Sync) -> Result<bool> {
        if self.last_block_is_needed() {
            return Ok(false);
        }
        self.forget_moving();
        if !self.can_stage(count) {
            return Ok(false);
        }
        let mut moving = std::mem::take(&mut self.moving);
        let copy = |first: usize, places: Places| {
            let Places { positions, indices, masses, velocities, accelerations, .. } = places;
            let vectors = positions.iter_mut().zip(velocities).zip(accelerations);
            for (number, ((vectors, index), mass)) in (first..).zip(vectors.zip(indices).zip(masses)) {
                let body = body(number);
                let ((position, velocity), acceleration) = vectors;
                (*position, *velocity, *acceleration) = (body.position, body.velocity, body.acceleration);
                (*index, *mass) = (number as i32, body.mass);
            }
        };
        let mut send = || -> Result<()> {
            moving.make_room(count, Kind::Moving, &mut self.devices)?;
            let arrays = arrays_of(&mut self.devices)?;
            moving.fill(&self.threads, arrays, ((), |(), ()| ()), |()| true, &copy)?;
            moving.send(arrays, moving.bodies().columns().indices, 4)
        };
        let sent = send();
        self.moving = moving;
        match sent {
            Ok(()) => {
                self.moving.is_current = true;
                Ok(true)
            }
            Err(error) => self.log_and_use_host_path(error),
        }
    }

    /// Moves the bodies on the device, and computes their accelerations there if a squared softening
    /// is given. Returns false where the device does not have them any more, one of them is not good
    /// as a source, or a sum is not finite. After that, or an error, they are lost.
    pub fn move_bodies(&mut self, motion: &Motion, softening2: Option<f64>) -> Result<bool> {
        if !self.moving.is_current {
            return Ok(false);
        }
        let outcome = self.move_and_accelerate(motion, softening2);
        if !matches!(outcome, Ok(true)) {
            self.moving.is_current = false;
            self.abandon();
        }
        outcome
    }

    fn move_and_accelerate(&mut self, motion: &Motion, softening2: Option<f64>) -> Result<bool> {
        let count = self.moving.bodies().len();
        let Some(places) = self.moving.moving_places() else { return Ok(false) };
        let all = self.moving.on_device();
        let arrays = arrays_of(&mut self.devices)?;
        arrays.move_bodies(places, 3 * count, motion)?;
        let Some(softening2) = softening2 else { return Ok(true) };
        let mut sources = all;
        sources.columns.derivatives[1..].fill(None);
        if self.take_sources((&sources, count), true)?.is_some() {
            return Ok(false);
        }
        self.candidates.make_room(count, &self.interaction)?;
        let tree = self.tree_of_pairs((count as u64).saturating_mul(count as u64));
        let scan = if tree.is_some() {
            self.kept_sinks = KeptSinks::Sources(softening2);
            self.scan_of_all(softening2)
        } else {
            self.kept_sinks = KeptSinks::Nowhere;
            let mut sinks = sources;
            sinks.columns.masses = None;
            arrays_of(&mut self.devices)?.take_sinks(&sinks, count, softening2)?.0
        };
        if !scan.good {
            return Ok(false);
        }
        let tree = tree.map(|accuracy| TreeBlock { accuracy, softening2, are_sources: Some(true) });
        self.start_candidates(count, true, scan, SinkPlace::Device(tree))?;
        if !self.moving.is_current {
            // The device failed, and another one makes these forces, which has no bodies to move.
            return Ok(false);
        }
        let mut derivatives = [None; MAX_DERIVATIVES];
        derivatives[0] = all.columns.derivatives[2];
        self.leave_forces(&DeviceForces {
            place: DevicePlace::STAGING,
            potentials: None,
            derivatives,
            nearest: None,
            nearest_distance2: None,
        })
    }

    /// Copies the bodies from the device, where they stay. Returns a function that gives a body by
    /// its number; `None` where the device does not have them any more.
    pub fn moved(&mut self) -> Result<Option<impl Fn(usize) -> MovingBody + Sync + '_>> {
        if !self.moving.is_current {
            return Ok(None);
        }
        let arrays = arrays_of(&mut self.devices)?;
        (0..3).try_for_each(|k| self.moving.fetch(arrays, k))?;
        let bodies = self.moving.bodies();
        Ok(Some(|number: usize| MovingBody {
            mass: bodies.mass(number),
            position: bodies.vector(0, number),
            velocity: bodies.vector(1, number),
            acceleration: bodies.vector(2, number),
        }))
    }
}
