//! What a probe prints.

use crate::Target;

pub(crate) const TARGET: Target = Target { name: "probe", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    let talks = [
        "howlate-probe 1 monotonic Python 3.11.7: time.sleep\n1000 1100\n1200 1400\n1500 1501\nend\n",
        "howlate-probe 1 realtime C\n1700000000000000000 1700000000000000100\n1700000000000000200 1700000000000000900\nend\n",
        "howlate-probe 2 monotonic\n",
        "-bash: no such file\n",
    ];
    talks.iter().map(|talk| talk.as_bytes().to_vec()).collect()
}

fn body(input: &[u8]) {
    howlate_runtimes::fuzzing::talk(&String::from_utf8_lossy(input));
}
