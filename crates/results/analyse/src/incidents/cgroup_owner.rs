//! The unit, container, pod or user that a control group belongs to, by its path alone.
//!
//! Source: `systemd.unit(5)`, `systemd.special(7)`; paths as Docker, Podman, containerd and CRI-O name them with either driver
//! for control groups.

use std::collections::BTreeMap;
use std::str::FromStr;

/// Endings of units that hold processes.
const UNITS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];
/// Digits of a container's id that are shown, as `docker ps` does.
const SHOWN_DIGITS: usize = 12;

/// How threads are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// By the name of their process.
    #[default]
    Process,
    /// By unit of systemd.
    Unit,
    /// By control group.
    Cgroup,
    /// By container id, as the runtime named it.
    Container,
    /// By UID of the Kubernetes pod.
    Pod,
    /// By UID of the user whose slice it is.
    User,
}

impl Grouping {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Process, "process"),
        (Self::Unit, "unit"),
        (Self::Cgroup, "cgroup"),
        (Self::Container, "container"),
        (Self::Pod, "pod"),
        (Self::User, "user"),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(grouping, _)| *grouping == self).map_or("", |(_, name)| name)
    }

    /// The group of a thread; `-` if it is in none. Users without a name are listed by number.
    pub fn group_of(
        self,
        process: &str,
        group: Option<&str>,
        uid: u32,
        users: &BTreeMap<u32, String>,
    ) -> String {
        let path = group.unwrap_or_default();
        let found = match self {
            Self::Process => Some(process.to_owned()),
            Self::Unit => unit(path).map(str::to_owned),
            Self::Cgroup => group.map(str::to_owned),
            Self::Container => container(path),
            Self::Pod => pod(path),
            Self::User => Some(users.get(&uid).cloned().unwrap_or_else(|| uid.to_string())),
        };
        found.unwrap_or_else(|| "-".to_owned())
    }
}

impl FromStr for Grouping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let row = Self::ALL.iter().find(|(_, name)| *name == text);
        row.map(|(grouping, _)| *grouping).ok_or_else(|| {
            format!("`{text}` groups nothing; write {}", Self::ALL.map(|(_, name)| name).join(", "))
        })
    }
}

/// The innermost unit of systemd that a control group is in.
pub fn unit(path: &str) -> Option<&str> {
    path.rsplit('/').find(|part| UNITS.iter().any(|ending| part.ends_with(ending)))
}

/// The container, by the beginning of its id.
pub fn container(path: &str) -> Option<String> {
    path.rsplit('/').find_map(|part| {
        let name = part.strip_suffix(".scope").unwrap_or(part);
        // `docker-1f…`, `cri-containerd-1f…`, `libpod-1f…`, or the id alone.
        let id = name.rsplit('-').next().unwrap_or(name);
        let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| id.chars().take(SHOWN_DIGITS).collect())
    })
}

/// The Kubernetes pod, by its uid.
pub fn pod(path: &str) -> Option<String> {
    path.split('/').find_map(|part| {
        let name = part.strip_suffix(".slice").unwrap_or(part);
        let uid = name.rsplit_once("-pod").map_or_else(|| name.strip_prefix("pod"), |(_, uid)| Some(uid))?;
        (uid.len() >= 32).then(|| uid.replace('_', "-"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1f2e3d4c5b6a79880f1e2d3c4b5a69781f2e3d4c5b6a79880f1e2d3c4b5a6978";
    const POD: &str = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0";

    #[test]
    fn the_innermost_unit_counts() {
        for (path, expected) in [
            ("/system.slice/nginx.service", Some("nginx.service")),
            ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", Some("app-x.scope")),
            ("/user.slice/user-1000.slice/session-3.scope", Some("session-3.scope")),
            ("/system.slice/postgres.service/worker", Some("postgres.service")),
            ("/", None),
            ("", None),
            ("/system.slice", None),
        ] {
            assert_eq!(unit(path), expected, "{path}");
        }
    }

    #[test]
    fn containers_and_pods_are_known_by_the_paths_of_their_runtimes() {
        let (short, under) = (&ID[..12], POD.replace('-', "_"));
        let kube = format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice");
        for (path, expected, in_pod) in [
            (format!("/docker/{ID}"), true, false),
            (format!("/system.slice/docker-{ID}.scope"), true, false),
            (format!("/machine.slice/libpod-{ID}.scope/container"), true, false),
            (format!("{kube}/cri-containerd-{ID}.scope"), true, true),
            (format!("{kube}/crio-{ID}.scope"), true, true),
            (format!("/kubepods/burstable/pod{POD}/{ID}"), true, true),
            ("/system.slice/podman.service".to_owned(), false, false),
            ("/".to_owned(), false, false),
        ] {
            assert_eq!(container(&path).as_deref(), expected.then_some(short), "{path}");
            assert_eq!(pod(&path).as_deref(), in_pod.then_some(POD), "{path}");
        }
    }

    #[test]
    fn what_is_in_none_is_said_to_be() {
        let users = BTreeMap::from([(33, "www-data".to_owned())]);
        let group_of = |grouping: &str, uid| {
            grouping.parse::<Grouping>().unwrap().group_of(
                "nginx",
                Some("/system.slice/web.service"),
                uid,
                &users,
            )
        };
        assert_eq!(
            (group_of("process", 33).as_str(), group_of("unit", 33).as_str()),
            ("nginx", "web.service")
        );
        assert_eq!((group_of("user", 33).as_str(), group_of("user", 34).as_str()), ("www-data", "34"));
        assert_eq!(
            (group_of("pod", 33).as_str(), group_of("cgroup", 33).as_str()),
            ("-", "/system.slice/web.service")
        );
        assert!("room".parse::<Grouping>().is_err());
    }
}
