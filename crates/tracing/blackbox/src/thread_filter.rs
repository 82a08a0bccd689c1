//! Filters of threads: process, user, policy, control group, systemd unit.

use std::collections::BTreeMap;
use std::fs;
use std::str::FromStr;

use glob::Pattern;
use howlate_analyse::incidents::unit;
use howlate_model::Policy;

/// A scheduling policy without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    Other,
    Fifo,
    Rr,
    Batch,
    Idle,
    Deadline,
    Ext,
}

impl PolicyKind {
    const ALL: [(Self, u32, &'static str); 7] = [
        (Self::Other, 0, "other"),
        (Self::Fifo, 1, "fifo"),
        (Self::Rr, 2, "rr"),
        (Self::Batch, 3, "batch"),
        (Self::Idle, 5, "idle"),
        (Self::Deadline, 6, "deadline"),
        (Self::Ext, 7, "ext"),
    ];

    /// By the number of `sched_setscheduler(2)`.
    pub(crate) fn from_kernel(number: u32) -> Option<Self> {
        Self::ALL.iter().find(|(_, of, _)| *of == number).map(|(policy, ..)| *policy)
    }

    fn of(policy: Option<Policy>) -> Option<Self> {
        let text = policy?.to_string();
        let name = text.split(':').next().unwrap_or_default();
        // `nice:N` is `other` with a nice value.
        if name == "nice" { Some(Self::Other) } else { name.parse().ok() }
    }

    /// Name on the command line.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(of, ..)| *of == self).map_or("", |(.., name)| name)
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entry = Self::ALL.iter().find(|(.., name)| *name == text);
        entry.map(|(policy, ..)| *policy).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(.., name)| *name).collect();
            format!("`{text}` is not a policy; write {}", names.join(", "))
        })
    }
}

/// Threads to record; empty lists match all.
#[derive(Clone, Debug, Default)]
pub struct ThreadFilter {
    pub process: Vec<Pattern>,
    pub uid: Vec<u32>,
    pub policy: Vec<PolicyKind>,
    /// Control groups, including their children.
    pub cgroup: Vec<String>,
    pub unit: Vec<String>,
}

/// Properties of a thread or of a group of threads.
pub(crate) struct ThreadProperties<'a> {
    /// Name of the process, and of the thread if there is one.
    pub(crate) names: &'a [&'a str],
    pub(crate) uid: u32,
    pub(crate) policy: Option<PolicyKind>,
    pub(crate) group: Option<&'a str>,
}

impl ThreadFilter {
    /// Whether the user is listed explicitly.
    pub(crate) fn names(&self, uid: u32) -> bool {
        self.uid.contains(&uid)
    }

    pub(crate) fn includes(&self, thread: &ThreadProperties<'_>) -> bool {
        let any_name = |pattern: &Pattern| thread.names.iter().any(|name| pattern.matches(name));
        let group = thread.group.unwrap_or_default();
        (self.process.is_empty() || self.process.iter().any(any_name))
            && (self.uid.is_empty() || self.uid.contains(&thread.uid))
            && (self.policy.is_empty() || thread.policy.is_some_and(|policy| self.policy.contains(&policy)))
            && (self.cgroup.is_empty() || self.cgroup.iter().any(|above| is_below(group, above)))
            && (self.unit.is_empty()
                || unit(group).is_some_and(|unit| self.unit.iter().any(|name| is_unit(unit, name))))
    }
}

pub(crate) fn policy_name(policy: Option<Policy>) -> Option<PolicyKind> {
    PolicyKind::of(policy)
}

fn is_below(group: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    group.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A name without suffix means a service.
fn is_unit(unit: &str, name: &str) -> bool {
    unit == name || unit.strip_suffix(".service") == Some(name)
}

fn users() -> Vec<(String, u32)> {
    parse_passwd(&fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn parse_passwd(text: &str) -> Vec<(String, u32)> {
    let user = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
    };
    text.lines().filter_map(user).collect()
}

/// User id of a name or a number.
pub fn uid_of(text: &str) -> Option<u32> {
    let by_name = || users().into_iter().find(|(name, _)| name == text).map(|(_, uid)| uid);
    text.parse().ok().or_else(by_name)
}

/// Names by user id.
pub fn user_names() -> BTreeMap<u32, String> {
    users().into_iter().rev().map(|(name, uid)| (uid, name)).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::Priority;

    use super::*;

    #[test]
    fn what_is_asked_for_must_all_be_so() {
        let group = "/system.slice/nginx.service";
        let properties = |names: &'static [&'static str]| ThreadProperties {
            names,
            uid: 33,
            policy: Some(PolicyKind::Other),
            group: Some(group),
        };
        let nginx = properties(&["nginx", "worker"]);
        assert!(ThreadFilter::default().includes(&nginx));
        let with_filter = |change: fn(&mut ThreadFilter)| {
            let mut chosen = ThreadFilter::default();
            change(&mut chosen);
            chosen.includes(&nginx)
        };
        assert!(with_filter(|chosen| chosen.process = vec![Pattern::new("ngi*").unwrap()]));
        assert!(with_filter(|chosen| chosen.process = vec![Pattern::new("work?r").unwrap()]));
        assert!(!with_filter(|chosen| chosen.process = vec![Pattern::new("java*").unwrap()]));
        assert!(
            with_filter(|chosen| chosen.uid = vec![0, 33]) && !with_filter(|chosen| chosen.uid = vec![0])
        );
        assert!(with_filter(|chosen| chosen.unit = vec!["nginx".into()]));
        assert!(with_filter(|chosen| chosen.unit = vec!["nginx.service".into()]));
        assert!(!with_filter(|chosen| chosen.unit = vec!["nginx.scope".into()]));
        assert!(with_filter(|chosen| chosen.cgroup = vec!["/system.slice/".into()]));
        assert!(!with_filter(|chosen| chosen.cgroup = vec!["/system.slic".into()]));
        assert!(!with_filter(|chosen| chosen.policy = vec![PolicyKind::Fifo]));
        assert!(!with_filter(|chosen| {
            chosen.unit = vec!["nginx".into()];
            chosen.uid = vec![0];
        }));
    }

    #[test]
    fn a_policy_is_known_by_its_name_whatever_its_parameters() {
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        assert_eq!(policy_name(Some(fifo)), Some(PolicyKind::Fifo));
        assert_eq!(policy_name(Some("nice:-5".parse().unwrap())), Some(PolicyKind::Other));
        assert_eq!(PolicyKind::from_kernel(6).map(PolicyKind::name), Some("deadline"));
        assert!("fast".parse::<PolicyKind>().unwrap_err().contains("write other, fifo"));
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        let text = "root:x:0:0:root:/root:/bin/sh\n\n# x\n+@staff\nwww-data:x:33:33::/var/www:/bin/false\n";
        assert_eq!(parse_passwd(text), [("root".to_owned(), 0), ("www-data".to_owned(), 33)]);
        assert_eq!((uid_of("33"), uid_of("root"), uid_of("no such user")), (Some(33), Some(0), None));
    }
}
