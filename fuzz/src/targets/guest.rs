//! Lines that a guest sends, and the recording that is made of them.

use super::recording;
use crate::Target;

pub(crate) const TARGET: Target = Target { name: "guest", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = recording::seeds()
        .iter()
        .flat_map(|one| one.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    seeds.push(b"{\"over\":{\"exit_status\":3,\"said\":\"error: no\"}}\n".to_vec());
    seeds
}

fn body(input: &[u8]) {
    howlate_guest::fuzzing::line(&String::from_utf8_lossy(input));
}
