//! The calling thread's own attributes.

use std::io;
use std::num::NonZeroU64;

use howlate_model::Span;
use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// `gettid(2)`.
///
/// Source: <https://man7.org/linux/man-pages/man2/gettid.2.html>
pub fn id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// `prctl(PR_GET_TIMERSLACK)`: how much later the kernel may let this thread's timeouts expire.
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_GET_TIMERSLACK.2const.html>
pub fn timer_slack() -> io::Result<Span> {
    Ok(Span::from_nanos(current_timer_slack()?))
}

/// `prctl(PR_SET_TIMERSLACK)`; 0 would mean "as inherited", so it is refused here.
///
/// # Errors
///
/// `InvalidInput` for 0.
///
/// Source: <https://man7.org/linux/man-pages/man2/PR_SET_TIMERSLACK.2const.html>
pub fn set_timer_slack(slack: Span) -> io::Result<()> {
    let slack = NonZeroU64::new(slack.as_nanos()).ok_or(io::ErrorKind::InvalidInput)?;
    set_current_timer_slack(Some(slack))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_slack_is_set_for_this_thread_and_read_back() {
        set_timer_slack(Span::from_nanos(1)).unwrap();
        // A real-time thread always reads 0; this one is not.
        assert_eq!(timer_slack().unwrap(), Span::from_nanos(1));
        assert!(set_timer_slack(Span::ZERO).is_err());
    }
}
