//! Traits of a notification mechanism, and its endpoints.

use std::io;
use std::os::fd::OwnedFd;

use super::shared::Direction;
use super::sysv_cleanup::SysvCleanup;

/// The sending end.
pub(crate) trait Notify {
    /// Prepares message `number`; not measured.
    #[inline]
    fn prepare(&mut self, _number: u64) {}

    /// Notifies the receiver; this call is what is measured.
    fn notify(&mut self, number: u64) -> io::Result<()>;
}

/// The receiving end.
pub(crate) trait Await {
    /// Returns when notified. `Interrupted` means that a signal came, not a notification.
    fn wait(&mut self) -> io::Result<()>;

    /// The number of the message that [`Await::wait`] returned for.
    fn number(&self) -> u64;
}

/// One direction of a notification mechanism.
pub(crate) trait Channel {
    type Sender: Notify;
    type Receiver: Await;

    /// Creates what both ends need, before either exists.
    fn make(_direction: &Direction) -> io::Result<Endpoints> {
        Ok(Endpoints::default())
    }

    /// The receiving end, in the thread that will wait.
    fn receiver(endpoint: Endpoint) -> io::Result<Self::Receiver>;

    /// The sending end, after the receiving one exists.
    fn sender(endpoint: Endpoint) -> io::Result<Self::Sender>;
}

/// Resources of both endpoints of a direction.
#[derive(Default)]
pub(crate) struct Endpoints {
    pub(crate) sender: Vec<OwnedFd>,
    pub(crate) receiver: Vec<OwnedFd>,
    /// Removes a System V id, however this process ends.
    pub(crate) sysv_cleanup: Option<SysvCleanup>,
}

impl Endpoints {
    /// One descriptor for each end.
    pub(crate) fn new(sender: OwnedFd, receiver: OwnedFd) -> Self {
        Self { sender: vec![sender], receiver: vec![receiver], sysv_cleanup: None }
    }

    /// The System V id, if the mechanism has one.
    pub(crate) fn id(&self) -> Option<i32> {
        self.sysv_cleanup.as_ref().map(SysvCleanup::id)
    }
}

/// Resources of one endpoint.
pub(crate) struct Endpoint {
    pub(crate) direction: Direction,
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) id: Option<i32>,
}

impl Endpoint {
    /// The only descriptor.
    pub(crate) fn descriptor(self) -> io::Result<OwnedFd> {
        self.descriptors.into_iter().next().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The System V id.
    pub(crate) fn id(&self) -> io::Result<i32> {
        self.id.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}
