//! What programs say to a recorder.

use crate::Target;

pub(crate) const TARGET: Target =
    Target { name: "requests", seeds, body: howlate_blackbox::fuzzing::message };

fn seeds() -> Vec<Vec<u8>> {
    let snap = [&b"snap1\0\0\0"[..], &[7; 8], b"player\0\0\0\0\0\0\0\0\0\0", b"frame dropped\0"].concat();
    vec![snap, b"loops1\0\0".to_vec(), [0xff; 256].to_vec()]
}
