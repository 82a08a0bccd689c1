use proptest::prelude::*;

use super::*;

fn any_kind() -> impl Strategy<Value = LoadKind> {
    let text = "[a-z '\\\\:+,%=/.é-]{1,20}";
    let folder = || proptest::option::of("[/.][a-zA-Z0-9 '\\\\:+,%=/.]{0,20}");
    prop_oneof![
        Just(LoadKind::Cpu),
        Just(LoadKind::Pipe),
        Just(LoadKind::Interrupt),
        (1..=100_u32, proptest::option::of(1..1_000_000_u64))
            .prop_map(|(groups, loops)| LoadKind::Hackbench(Hackbench { groups, loops })),
        Just(LoadKind::Memory),
        folder().prop_map(|folder| LoadKind::Disk { folder }),
        folder().prop_map(|folder| LoadKind::Files { folder }),
        Just(LoadKind::Network),
        Just(LoadKind::Fork),
        Just(LoadKind::Timers),
        Just(LoadKind::Awake),
        "[a-z-]{1,12}".prop_map(|name| LoadKind::StressNg { name }),
        text.prop_map(|options| LoadKind::HackbenchProgram { options }),
        text.prop_map(|command| LoadKind::Command { command }),
    ]
}

fn any_part() -> impl Strategy<Value = LoadPart> {
    let cpus = proptest::collection::btree_set(0..64_u32, 1..5).prop_map(|cpus| cpus.into_iter().collect());
    let parts = (any_kind(), 1..=100_u8, proptest::option::of(1..=1_000_u32), proptest::option::of(cpus));
    parts.prop_map(|(kind, percent, workers, cpus)| {
        let plain = matches!(
            kind,
            LoadKind::Hackbench(_) | LoadKind::HackbenchProgram { .. } | LoadKind::Command { .. }
        );
        let intensity = if kind.is_from_outside() { 100 } else { percent };
        LoadPart {
            kind,
            intensity: Intensity::new(intensity).unwrap(),
            workers: workers.filter(|_| !plain),
            cpus,
        }
    })
}

fn any_load() -> impl Strategy<Value = Load> {
    proptest::collection::vec(any_part(), 0..4).prop_map(Load::from_parts)
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(load in any_load()) {
        prop_assert_eq!(load.to_string().parse::<Load>(), Ok(load));
    }

    #[test]
    fn lists_are_split_where_loads_end(loads in proptest::collection::vec(any_load(), 1..4)) {
        let text = loads.iter().map(Load::to_string).collect::<Vec<_>>().join(",");
        prop_assert_eq!(text.parse::<LoadList>(), Ok(LoadList(loads)));
    }

    #[test]
    fn no_text_is_a_panic(text in "[a-z':+,%=\\\\ ]{0,40}") {
        drop(text.parse::<LoadList>());
    }
}

fn load(text: &str) -> Load {
    text.parse().unwrap()
}

#[test]
fn recordings_keep_the_published_names() {
    assert_eq!(serde_json::to_string(&Load::IDLE).unwrap(), "\"idle\"");
    assert_eq!(serde_json::to_string(&Load::cpu()).unwrap(), "\"cpu\"");
    assert_eq!(serde_json::from_str::<Load>("\"cpu+pipe:50%\"").unwrap(), load("cpu+pipe:50%"));
}

#[test]
fn commands_with_and_without_quotes() {
    let command = |load: &Load| match &load.parts()[0].kind {
        LoadKind::Command { command } => command.clone(),
        other => panic!("{other}"),
    };
    assert_eq!(command(&load("cmd:'ping -f, or not'")), "ping -f, or not");
    assert_eq!(command(&load("cmd:ping -f a,b+c:d")), "ping -f a,b+c:d");
    assert_eq!(command(&load("cmd:'it'\\''s'")), "it's");
    assert_eq!("cmd:'a,b'+cpu,idle".parse::<LoadList>().unwrap().0.len(), 2);
    assert_eq!(load("cmd:'a'+cpu").parts().len(), 2);
}

#[test]
fn cpus_for_all_do_not_change_those_of_a_part() {
    let bound = load("cpu+pipe:cpus=1").bound_to(&"0,2".parse().unwrap());
    assert_eq!(bound.to_string(), "cpu:'cpus=0,2'+pipe:cpus=1");
    assert_eq!(Load::IDLE.bound_to(&"0".parse().unwrap()), Load::IDLE);
}

#[track_caller]
fn refused(text: &str, says: &str) {
    let error = text.parse::<LoadList>().unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

#[test]
fn what_is_no_load_is_named_with_what_was_meant() {
    refused("pip", "did you mean `pipe`?");
    refused("zzz", "`zzz` is not a load; choose from idle, cpu, pipe");
    refused("", "`` is not a load");
    refused("cpu,", "`` is not a load");
    refused("cpu+", "`` is not a load");
    refused("idle+cpu", "stands alone");
    refused("cpu+idle", "stands alone");
    refused("idle:50%", "stands alone");
    refused("pipe:0%", "does not take `0%`");
    refused("pipe:101%", "1 to 100");
    refused("pipe:fast", "does not take `fast`; write an intensity such as `50%`");
    refused("disk:var", "a folder that begins with `/` or `.`");
    refused("stress-ng", "name a stressor or a class");
    refused("stress-ng:pipe:50%", "after the name, write `workers=N`");
    refused("cmd", "write the command");
    refused("cmd:'sleep", "a quote is left open");
    refused("hackbench:groups=0", "`groups=N` (1 to 100)");
}
