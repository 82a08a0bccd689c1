//! Text of advice for requests to servers.

use howlate_analyse::{Meanwhile, RequestAdvice, RequestCure};

use super::thread_advice::AdviceText;
use crate::cause_words::percent;
use crate::untrusted_text::legible;

/// `For 98 % of their time the slowest requests at port 80 wait for keeper (futex), which is blocked in fsync(2) …`
pub(super) fn text(advice: &RequestAdvice) -> AdviceText {
    let (server, share) = (legible(&advice.server), percent(advice.share));
    let sentence = match &advice.cure {
        RequestCure::MoreThreads { threads, mostly_waits } => {
            let who = match threads {
                1 => "the one thread that answers, which is".to_owned(),
                threads => format!("the {threads} threads that answer, which are"),
            };
            let waits = format!(
                "For {share} of their time the slowest requests at {server} wait for {who} busy with other requests"
            );
            match mostly_waits {
                true => format!(
                    "{waits}, and mostly blocked in those. More answering threads would shorten that, without another CPU"
                ),
                false => format!(
                    "{waits}. Where CPUs are free, more threads that answer shorten that (more processes, where threads share an \
                     interpreter), and so does less work for each request"
                ),
            }
        }
        RequestCure::ShorterLock { holder, meanwhile } => {
            let holder = legible(holder);
            let waits = format!(
                "For {share} of their time the slowest requests at {server} wait for {holder} (futex)"
            );
            match meanwhile {
                Meanwhile::Works => format!(
                    "{waits}: a lock that it holds, or a signal from it. Less work by {holder} first would shorten the wait"
                ),
                Meanwhile::BlockedIn(call) => format!(
                    "{waits}, which is blocked in {}(2) for most of that. If {holder} holds a lock meanwhile, have it release that \
                     before the call",
                    legible(call)
                ),
                Meanwhile::OffCpu => format!(
                    "{waits}, which others keep from its CPU for most of that. A policy for {holder} that comes before theirs shortens \
                     the wait, and so does less work under the lock"
                ),
            }
        }
    };
    AdviceText { sentence: format!("{sentence}. Not tried here"), steps: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whom_requests_wait_for() {
        let text = |cure| {
            let sentence = text(&RequestAdvice { server: "port 80".into(), share: 0.4, cure }).sentence;
            assert!(
                sentence.starts_with("For 40 % of their time the slowest requests at port 80 wait for "),
                "{sentence}"
            );
            sentence
        };
        assert!(
            text(RequestCure::MoreThreads { threads: 1, mostly_waits: true })
                .contains("the one thread that answers")
        );
        assert!(
            text(RequestCure::MoreThreads { threads: 4, mostly_waits: false })
                .contains("the 4 threads that answer, which are busy")
        );
        let lock = |meanwhile| text(RequestCure::ShorterLock { holder: "keeper".into(), meanwhile });
        assert!(lock(Meanwhile::Works).contains("Less work by keeper"));
        assert!(
            lock(Meanwhile::BlockedIn("fsync".into()))
                .contains("keeper (futex), which is blocked in fsync(2)")
        );
        assert!(!lock(Meanwhile::BlockedIn("\u{1b}[2J".into())).contains('\u{1b}'));
        assert!(lock(Meanwhile::OffCpu).contains("which others keep from its CPU"));
    }
}
