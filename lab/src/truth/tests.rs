//! A short attack on the program of this build.

use std::path::PathBuf;

use howlate_testing::skip;

use super::*;

/// The program of this build; says so where it is not there.
pub(super) fn program() -> Option<PathBuf> {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    let program = program.with_file_name("howlate");
    if !program.exists() {
        skip("the program is not built beside this test");
        return None;
    }
    Some(program)
}

#[test]
fn what_was_made_late_is_recorded_once_and_nothing_else() {
    let Some(program) = program() else { return };
    if !Instance::can_be_had() {
        return skip("no trace instance can be had (root, and tracefs mounted)");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut scores = Scores::new();
    record::attack(&program, folder.path(), 2, None, &mut scores).unwrap();
    let tried = |claim: TruthClaim| scores.get(&claim).cloned().unwrap_or_default();
    if tried(TruthClaim::RecordKept).tried == 0 {
        return skip("nothing was recorded");
    }
    for claim in [TruthClaim::RecordOnce, TruthClaim::RecordNotLate] {
        assert_eq!(tried(claim).wrong, Vec::<String>::new(), "{claim:?}");
    }
    for claim in [
        TruthClaim::RecordKept,
        TruthClaim::RecordCulprit,
        TruthClaim::RecordReal,
        TruthClaim::RecordAll,
        TruthClaim::RecordIdle,
    ] {
        let score = tried(claim);
        // A short run has few of them: one may be wrong.
        let wrong = score.tried - score.right;
        assert!(wrong <= 1 + score.tried / 20, "{claim:?}: {score:?}");
    }
}

#[test]
fn what_is_claimed_is_what_the_kernel_wrote() {
    let Some(program) = program() else { return };
    if !Instance::can_be_had() {
        return skip("no trace instance can be had (root, and tracefs mounted)");
    }
    let mut scores = Scores::new();
    once(&program, &ATTACKS[1], 2, &mut scores).unwrap();
    let tried = |claim: TruthClaim| scores.get(&claim).cloned().unwrap_or_default();
    // Without a tracer, howlate names no causes.
    if tried(TruthClaim::Sums).tried == 0 {
        return skip("nothing was traced");
    }
    for claim in [TruthClaim::Sums, TruthClaim::Counts] {
        assert_eq!(tried(claim).wrong, Vec::<String>::new(), "{claim:?}");
    }
    for claim in [TruthClaim::Names, TruthClaim::Pids, TruthClaim::Positions] {
        let score = tried(claim);
        // How far apart two tracers stamp one event is a matter of the machine; which event it is, of what is claimed.
        let same = score.reasons.get(claims::SAME_EVENT).copied().unwrap_or_default();
        // A short run has few parts: one may be wrong.
        let wrong = score.tried - score.right - same;
        assert!(wrong <= 1 + score.tried / 50, "{claim:?}: {score:?}");
    }
}
