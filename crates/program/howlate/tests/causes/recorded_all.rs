//! What a recorder has seen is in its folder: as an incident, or counted as none.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{json, run, stderr};
use crate::record::place;

/// Two programs of which one always waits for the other.
struct Pair(Vec<Child>);

impl Pair {
    fn start() -> Self {
        let yes = Command::new("yes").stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut yes = yes.unwrap();
        let reads = Command::new("cat").stdin(yes.stdout.take().unwrap()).stdout(Stdio::null()).spawn();
        Self(vec![yes, reads.unwrap()])
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// When the recorder ends, its last waits are still in the kernel's buffer, and on a busy machine many found no room in it.
#[test]
fn each_late_wait_is_an_incident_or_counted_as_left_out_or_lost() {
    let Some((folder, _alone)) = place() else { return };
    let out = folder.path().join("kept");
    let out = out.to_str().unwrap();
    let _busy: Vec<Pair> = (0..6).map(|_| Pair::start()).collect();
    let output =
        run(&["record", "--late-above", "50us", "--timelines", "0/h", "--duration", "1s", "--out", out]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = json(&["show", out, "--json"], 0);
    let count = |value: &Value| value.as_u64().unwrap();
    let groups = shown["groups"].as_array().unwrap();
    // Late waits of the recorder itself are no incidents.
    let late: u64 =
        groups.iter().filter(|group| group["name"] != "howlate").map(|group| count(&group["late"])).sum();
    let missing = &shown["missing"];
    let told = shown["incidents"].as_array().unwrap().len() as u64
        + ["incidents_shorter", "incidents_left_out", "incidents_lost"]
            .map(|key| count(&missing[key]))
            .iter()
            .sum::<u64>();
    assert!(late > 0 && told >= late, "{told} of {late}: {missing}");
}
