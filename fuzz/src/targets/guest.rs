//! Lines that a guest sends, and the recording that is made of them.

use howlate_model::Line;
use howlate_recording::LineMerger;

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
    let mut merge = None;
    for line in howlate_guest::fuzzing::lines(&String::from_utf8_lossy(input)) {
        match (line, &mut merge) {
            (Line::Header(header), merge) => {
                let merge =
                    merge.get_or_insert_with(|| LineMerger::into_conditions(header.conditions.clone()));
                drop(merge.begin(&header.conditions, 7));
            }
            (line, Some(merge)) => drop(merge.line(line)),
            _ => {}
        }
    }
}
