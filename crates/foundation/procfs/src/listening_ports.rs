//! `/proc/PID/net/tcp` and `tcp6`: the TCP sockets of the network namespace of a process.

use std::collections::BTreeSet;

use crate::Root;

/// The state of sockets that wait for connections, `TCP_LISTEN`.
const LISTENS: &str = "0A";

/// Local TCP ports at which any program in the network namespace of `process` waits for connections. Empty where the files cannot be read.
pub fn listening_ports(root: &Root, process: u32) -> BTreeSet<u16> {
    let files = ["tcp", "tcp6"].map(|name| root.read(&format!("/proc/{process}/net/{name}")));
    files.iter().flatten().flat_map(|text| text.lines().filter_map(listening_port)).collect()
}

/// `1: 0100007F:18EB 00000000:0000 0A ...`.
fn listening_port(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace();
    let (local, state) = (words.nth(1)?, words.nth(1)?);
    let (_, port) = local.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok().filter(|_| state == LISTENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_wait_for_connections_are_listed_once() {
        let directory = std::env::temp_dir().join(format!("howlate-ports-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("proc/7/net")).unwrap();
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n";
        let tcp = "   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n   \
                   1: 0100007F:9C40 0100007F:18EB 01 00000000:00000000 00:00000000 00000000     0\n";
        let tcp6 = "   0: 00000000000000000000000000000000:18EB 00000000000000000000000000000000:0000 0A 0:0\n   \
                    1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0\n";
        for (name, text) in [("tcp", tcp), ("tcp6", tcp6)] {
            std::fs::write(directory.join("proc/7/net").join(name), format!("{heading}{text}")).unwrap();
        }
        let root = Root::at(&directory);
        assert_eq!(listening_ports(&root, 7), BTreeSet::from([80, 6_379]));
        assert_eq!(listening_ports(&root, 8), BTreeSet::new());
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
