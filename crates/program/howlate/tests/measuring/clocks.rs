//! `--clock`: the clocks that threads wait on.

use crate::common::{json, run, skip, stderr};

#[test]
fn every_clock_that_the_kernel_has_is_waited_on_by_every_call_that_can() {
    let calls = "clock_nanosleep,clock_nanosleep_relative,nanosleep,timerfd,posix_timer";
    let arguments =
        ["cyclic", "--threads", "1", "--samples", "20", "--rounds", "1", "--json", "--quiet", "--no-save"];
    let clocks = ["--call", calls, "--clock", "monotonic,realtime,tai,boottime"];
    let document = json(&[&arguments[..], &clocks[..]].concat(), 0);
    let results = document["results"].as_array().unwrap();
    let count = |clock: Option<&str>| {
        let of_it = results.iter().filter(|result| result["condition"]["clock"].as_str() == clock);
        of_it.inspect(|result| assert_eq!(result["count"], 20, "{result}")).count()
    };
    let counts = [None, Some("realtime"), Some("tai"), Some("boottime")].map(count);
    // The kernel has no timerfd for CLOCK_TAI.
    assert_eq!(counts, [5, 5, 4, 5], "{document}");
    let left_out = document["caveats"].to_string();
    assert!(left_out.contains("timerfd cannot wait on CLOCK_TAI"), "{left_out}");
}

#[test]
fn what_has_no_such_clock_says_so() {
    let arguments = ["cyclic", "--threads", "1", "--samples", "5", "--no-save", "--clock"];
    let wrong = run(&[&arguments[..], &["wall"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("`wall` is not a clock to wait on; choose from monotonic"));
    let python = run(&["sleep", "1ms", "python", "--clock", "tai", "--no-save"]);
    assert!(
        stderr(&python).contains("python chooses the clock that it waits on itself"),
        "{}",
        stderr(&python)
    );
    if std::path::Path::new("/sys/kernel/time/aux_clocks").exists() {
        return skip("this kernel has auxiliary clocks");
    }
    let aux = run(&[&arguments[..], &["aux3"]].concat());
    assert_eq!(aux.status.code(), Some(2));
    assert!(stderr(&aux).contains("CLOCK_AUX3 is not available: it needs Linux 6.17"), "{}", stderr(&aux));
}
