//! Thread settings as XML of libvirt.

use std::fmt::Write;

use howlate_model::Policy;

use crate::HostSettings;

/// The elements of a domain that give its threads these settings.
///
/// Source: <https://libvirt.org/formatdomain.html#cpu-tuning>
pub fn libvirt_xml(settings: &HostSettings, cpus: u32) -> String {
    let mut tuning = String::new();
    let all = if cpus == 1 { "0".to_owned() } else { format!("0-{}", cpus - 1) };
    for (vcpu, cpu) in (0..cpus).zip(&settings.vcpu_pin) {
        element(&mut tuning, format_args!("vcpupin vcpu='{vcpu}' cpuset='{cpu}'"));
    }
    if let Some(scheduler) = settings.vcpu_policy.and_then(scheduler) {
        element(&mut tuning, format_args!("vcpusched vcpus='{all}' {scheduler}"));
    }
    if let Some(scheduler) = settings.emulator_policy.and_then(scheduler) {
        element(&mut tuning, format_args!("iothreadsched iothreads='1' {scheduler}"));
        element(&mut tuning, format_args!("emulatorsched {scheduler}"));
    }
    let threads = if settings.emulator_policy.is_some() { "<iothreads>1</iothreads>\n" } else { "" };
    format!("<vcpu placement='static'>{cpus}</vcpu>\n{threads}<cputune>\n{tuning}</cputune>\n")
}

fn element(to: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(to, "  <{text}/>");
}

/// libvirt has no word for nice values, deadlines and schedulers of BPF.
fn scheduler(policy: Policy) -> Option<String> {
    Some(match policy {
        Policy::Fifo { priority } => format!("scheduler='fifo' priority='{}'", priority.get()),
        Policy::Rr { priority } => format!("scheduler='rr' priority='{}'", priority.get()),
        Policy::Batch => "scheduler='batch'".to_owned(),
        Policy::Idle => "scheduler='idle'".to_owned(),
        Policy::Other { .. } | Policy::Ext | Policy::Deadline { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_elements() {
        let settings = HostSettings {
            vcpu_policy: Some("fifo:1".parse().unwrap()),
            emulator_policy: Some("rr:2".parse().unwrap()),
            vcpu_pin: vec![2, 3],
        };
        let expected = "\
<vcpu placement='static'>2</vcpu>
<iothreads>1</iothreads>
<cputune>
  <vcpupin vcpu='0' cpuset='2'/>
  <vcpupin vcpu='1' cpuset='3'/>
  <vcpusched vcpus='0-1' scheduler='fifo' priority='1'/>
  <iothreadsched iothreads='1' scheduler='rr' priority='2'/>
  <emulatorsched scheduler='rr' priority='2'/>
</cputune>
";
        assert_eq!(libvirt_xml(&settings, 2), expected);
        assert!(!libvirt_xml(&HostSettings::default(), 1).contains("sched"));
    }
}
