//! What a kubelet changes on a machine, it changes in namespaces that end with it: addresses and firewall rules, mounts,
//! folders of the system, settings of the kernel, processes.

use std::io;
use std::process::{Command, ExitStatus};

use super::succeeds;

/// Says that this is inside.
const INSIDE: &str = "HOWLATE_NAMESPACES";

/// What unshare(1) makes; the first process in it takes all others with it.
const NEW: [&str; 6] = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// Makes the folders where a kubelet writes others, hides the settings that it would change behind copies, and gives it
/// the address that it wants to have (of RFC 5737, for documentation).
const PREPARE: &str = "
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mount -t tmpfs none /var/log
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \\
    kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    copy=/run/setting-$(basename $setting)
    cat /proc/sys/$setting > $copy
    mount --bind $copy /proc/sys/$setting
done
ip link set lo up
ip link add node type veth peer name other
ip address add 192.0.2.1/24 dev node
ip link set node up
ip link set other up
ip route add default dev node
";

/// Whether this runs in namespaces of its own.
pub(super) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs this program again, inside.
pub(super) fn inside(arguments: &[&str]) -> io::Result<ExitStatus> {
    let mut command = Command::new("unshare");
    command.args(NEW).arg(std::env::current_exe()?).args(arguments).env(INSIDE, "1");
    command.status()
}

/// Makes what is inside.
pub(super) fn prepare() -> io::Result<()> {
    succeeds(Command::new("sh").args(["-e", "-c", PREPARE]))
}
