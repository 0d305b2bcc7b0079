//! The floating-point environment of callers, which may trap exceptions, round in another way or
//! flush denormals.
//!
//! The library computes in the usual environment, so that no trap within it ends the caller, and
//! results have the same bits whoever calls. A thread begins with the environment of the one that
//! starts it. The threads of the library and of drivers are started within calls of the library,
//! and so have the usual environment too.
//!
//! Only entry points change the environment, because Rust itself takes the usual one for granted.

#[cfg(target_arch = "x86_64")]
use x86_64::Callers;

/// Runs the body in the usual environment: without traps, rounding to the nearest, with denormals.
/// Afterwards the caller has its environment back, with the exceptions that it had raised and no
/// others. The body should be all that an entry point does, and should return a number, since a
/// larger result takes nanoseconds more.
pub fn in_the_usual_environment<T>(body: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    let _callers = Callers::save();
    apart(body)
}

/// Runs the body in a call that is never inlined. The compiler knows one environment only, and may
/// move the arithmetic of an inlined function to where the environment is another.
#[inline(never)]
fn apart<T>(body: impl FnOnce() -> T) -> T {
    body()
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;

    /// The bits of MXCSR that tell which exceptions were raised.
    const RAISED: u32 = 0x3f;
    /// MXCSR with all exceptions masked and none raised.
    const USUAL: u32 = 0x1f80;

    /// The environment of a caller, which gets it back when this is dropped.
    pub struct Callers {
        mxcsr: u32,
        /// The environment of the x87 unit, which drivers may use. Saving it takes longer, and is
        /// only done where MXCSR is not the usual one: the functions of C that set traps or
        /// rounding set both.
        x87: Option<[u32; 7]>,
    }

    impl Callers {
        /// Saves the caller's environment and sets the usual one.
        #[inline]
        pub fn save() -> Callers {
            let mxcsr = mxcsr();
            let x87 = (mxcsr & !RAISED != USUAL).then(|| {
                let mut x87 = [0; 7];
                // SAFETY: the instruction writes 28 bytes, and the unit's registers are empty at
                // every call.
                unsafe { asm!("fnstenv [{}]", "fninit", in(reg) &raw mut x87, options(nostack)) };
                x87
            });
            if x87.is_some() {
                set_mxcsr(USUAL);
            }
            Callers { mxcsr, x87 }
        }
    }

    impl Drop for Callers {
        #[inline]
        fn drop(&mut self) {
            if let Some(x87) = &self.x87 {
                // SAFETY: the instruction reads the 28 bytes that `fnstenv` wrote.
                unsafe { asm!("fldenv [{}]", in(reg) x87, options(nostack)) };
            }
            // The caller has mostly raised the exceptions that the library raises, so that nothing
            // is to be restored. Reading MXCSR costs little on every CPU, while writing it makes
            // some wait for all that they have begun.
            if mxcsr() != self.mxcsr {
                set_mxcsr(self.mxcsr);
            }
        }
    }

    #[inline]
    fn mxcsr() -> u32 {
        let mut value = 0_u32;
        // SAFETY: the instruction writes 4 bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    #[inline]
    fn set_mxcsr(value: u32) {
        // SAFETY: the instruction reads 4 bytes. While the value is not the usual one, no code of
        // this library computes.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
    }
}
