//! A device's primary context.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::contexts::{self, Contexts};
use kyoho_core::{Error, Result};

use super::pools::Pools;
use super::{Driver, Handle, Module, Properties, SUCCESS, driver};

/// The primary context of a device, which everything in the process that uses the device shares. It
/// is held until this is dropped.
pub struct Context {
    pub(super) driver: &'static Driver,
    pub(super) number: i32,
    device: i32,
    pub(super) handle: Handle,
    properties: Properties,
    /// The numbers of devices, as bits, from which copies come directly.
    reached: AtomicU64,
    /// Whether a call on it failed.
    failed: AtomicBool,
    /// The modules that are in use.
    modules: Mutex<Vec<Loaded>>,
    pub(super) pools: Pools,
}

/// A module that is loaded as long as somebody uses it.
pub(super) struct Loaded {
    /// The name of its unit.
    pub(super) unit: String,
    pub(super) module: Weak<Module>,
    /// Whether its kernels themselves wait for those before them.
    pub(super) waits: bool,
}

static KEPT: Contexts<Context> = Contexts::none();

impl contexts::Context for Context {
    fn number(&self) -> usize {
        self.number as usize
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl Context {
    /// Returns the context of the device of this number and makes it current on this thread.
    pub fn new(number: usize) -> Result<Arc<Context>> {
        let driver = driver()?;
        match KEPT.get(number) {
            Some(context) => context.bind().map(|()| context),
            None => Ok(KEPT.keep(Context::of(driver, number)?)),
        }
    }

    /// Makes a context as [`Context::new`] does, with the driver given.
    pub fn of(driver: &'static Driver, number: usize) -> Result<Arc<Context>> {
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        let device = driver.device(number)?;
        let properties = driver.properties(number)?;
        let mut handle = Handle::NONE;
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (driver.table.cuDevicePrimaryCtxRetain)(&mut handle.0, device) };
        driver.check(number, code, "cuDevicePrimaryCtxRetain")?;
        let (reached, failed, modules) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        let pools = Pools::default();
        // From here on dropping releases it.
        let mut context = Context { driver, number, device, handle, properties, reached, failed, modules, pools };
        context.bind()?;
        context.make_pool()?;
        Ok(Arc::new(context))
    }

    /// Makes it the current context of this thread, which every call on its objects requires.
    #[inline]
    pub fn bind(&self) -> Result<()> {
        self.driver.check_process().map_err(|reason| Error::DeviceFailed {
            // The driver knows more about the device, but it must not be called here.
            device: format!("{} ({})", self.number, self.properties.name),
            reason: reason.into(),
        })?;
        // SAFETY: the context is held.
        self.check(unsafe { (self.driver.table.cuCtxSetCurrent)(self.handle.0) }, "cuCtxSetCurrent")
    }

    /// Makes it the current context of this thread until the result is dropped.
    pub fn enter(&self) -> Result<Caller> {
        let caller = Caller::of(self.driver);
        self.bind()?;
        Ok(caller)
    }

    /// Whether copies from another device may come directly; otherwise they go by the host.
    pub fn can_reach(&self, other: &Context) -> bool {
        if self.device == other.device {
            return true;
        }
        let mut can = 0;
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (self.driver.table.cuDeviceCanAccessPeer)(&mut can, self.device, other.device) };
        code == SUCCESS && can != 0
    }

    /// Lets copies from another device come directly, if it can be reached. It must be current.
    pub fn reach(&self, other: &Context) {
        if self.device == other.device {
            return;
        }
        let bit = 1u64.checked_shl(other.number as u32).unwrap_or(0);
        if bit == 0 || self.reached.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            // SAFETY: both contexts are held. The driver refuses it where the caller did it.
            unsafe { (self.driver.table.cuCtxEnablePeerAccess)(other.handle.0, 0) };
        }
        other.pools.open_to(self.driver, self.number);
    }

    /// Returns the modules that are in use, and perhaps some that no longer are.
    pub(super) fn modules(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the properties of the device.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns the driver's number of the device.
    pub fn device(&self) -> i32 {
        self.device
    }

    /// Waits for all work on it before memory is refused: whoever asked for it gives up, and may drop
    /// memory that work still uses.
    #[cold]
    pub(super) fn settle(&self) {
        // SAFETY: the context is current. A failure means that there is no work any more.
        unsafe { (self.driver.table.cuCtxSynchronize)() };
    }

    /// An error unless `code`, which `call` returned, is success.
    #[inline]
    pub fn check(&self, code: i32, call: &'static str) -> Result<()> {
        if code != SUCCESS {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.driver.check(self.number, code, call)
    }
}

/// The context that was current on this thread. It becomes current again when this is dropped, so
/// that a program that uses the driver itself does not notice that the library does too.
pub struct Caller {
    driver: &'static Driver,
    handle: Option<Handle>,
}

impl Caller {
    /// Notes the context that is current now.
    pub fn of(driver: &'static Driver) -> Caller {
        let mut handle = Handle::NONE;
        let is_known = driver.check_process().is_ok()
            // SAFETY: the pointer is to a local variable.
            && unsafe { (driver.table.cuCtxGetCurrent)(&mut handle.0) } == SUCCESS;
        Caller { driver, handle: is_known.then_some(handle) }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            // SAFETY: it is the caller's context, or none, and was current before. If it no longer
            // exists, nothing uses it.
            unsafe { (self.driver.table.cuCtxSetCurrent)(handle.0) };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.driver.check_process().is_ok() {
            let caller = Caller::of(self.driver);
            if self.bind().is_ok() {
                self.pools.give_back(&self.driver.table);
            }
            drop(caller);
            // SAFETY: it was retained once by this value. A failure means that it was lost before.
            unsafe { (self.driver.table.cuDevicePrimaryCtxRelease_v2)(self.device) };
        }
    }
}
