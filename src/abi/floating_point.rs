//! The floating-point environment of callers, which may trap exceptions, round in another way or
//! flush denormals.
//!
//! The library computes in the usual one, so that no caller is ended by a trap within it, and
//! results have the same bits whoever calls. A thread begins with the environment of the one that
//! starts it: the library's own, and those of drivers, are started within its calls and have the
//! usual one too.
//!
//! It is done where C enters, and nowhere else: Rust itself takes the usual environment for granted.

#[cfg(target_arch = "x86_64")]
use x86_64::Callers;

/// Does something in the usual environment: no traps, to the nearest, with denormals. The caller's
/// is as before afterwards, with the exceptions that it had raised and no others. It is for all that
/// an entry point does, from which a number comes back: a larger result would take nanoseconds more.
pub fn in_the_usual_environment<T>(body: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    let _callers = Callers::put_by();
    apart(body)
}

/// A call of its own: the compiler knows of one environment alone, and may move the arithmetic of a
/// function that it makes part of another.
#[inline(never)]
fn apart<T>(body: impl FnOnce() -> T) -> T {
    body()
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;

    /// Bits of MXCSR that say which exceptions were raised.
    const RAISED: u32 = 0x3f;
    /// MXCSR with all exceptions masked and none raised.
    const USUAL: u32 = 0x1f80;

    /// The environment of a caller, which has it again when this is dropped.
    pub struct Callers {
        mxcsr: u32,
        /// That of the x87 unit, which drivers may use. Saving it takes longer, and so is only done
        /// where MXCSR is not the usual one: who sets traps or rounding by the functions of C sets
        /// both.
        x87: Option<[u32; 7]>,
    }

    impl Callers {
        /// Puts the caller's environment by and sets the usual one.
        #[inline]
        pub fn put_by() -> Callers {
            let mxcsr = mxcsr();
            let x87 = (mxcsr & !RAISED != USUAL).then(|| {
                let mut x87 = [0; 7];
                // SAFETY: it writes 28 bytes. The unit's registers are empty where a function is called.
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
                // SAFETY: it reads 28 bytes, which `fnstenv` wrote.
                unsafe { asm!("fldenv [{}]", in(reg) x87, options(nostack)) };
            }
            // A thread that computes has mostly raised what the library raises. To read it costs some CPUs nothing and
            // none much, where to write it makes some wait for all that they have begun.
            if mxcsr() != self.mxcsr {
                set_mxcsr(self.mxcsr);
            }
        }
    }

    #[inline]
    fn mxcsr() -> u32 {
        let mut value = 0_u32;
        // SAFETY: it writes 4 bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    #[inline]
    fn set_mxcsr(value: u32) {
        // SAFETY: it reads 4 bytes. While the value is not the usual one, no code of this library computes.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
    }
}
