//! The guest's side: howlate as the first process.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use howlate_linux::helper::THIS_PROGRAM;
use howlate_linux::{clock, socket};
use howlate_model::Span;
use howlate_procfs::{Root, virtio_port};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, finit_module, reboot};

use crate::protocol::{ALIVE, CommandEnd, GuestTask, PORT, TASK};

/// How long the results' port may take to appear after its driver was loaded.
const PORT_APPEARS: Span = Span::from_secs(20);

/// How often a command that says nothing before its end shows that it lives.
const BEAT: Duration = Duration::from_secs(1);

/// `MODULE_INIT_COMPRESSED_FILE` of `<linux/module.h>`: the kernel unpacks the module.
const COMPRESSED: i32 = 4;

/// Whether this runs in a guest that `howlate guest` has booted.
pub fn is_inside() -> bool {
    Path::new(TASK).exists()
}

/// Does what a guest's first process does, if this is one: never returns then.
pub fn serve_as_init() {
    if rustix::process::getpid().as_raw_nonzero().get() != 1 || !is_inside() {
        return;
    }
    if let Err(error) = serve() {
        // The console is all there is to speak to.
        let console = fs::File::options().write(true).open("/dev/console");
        drop(console.and_then(|mut console| writeln!(console, "howlate: {error}")));
    }
    rustix::fs::sync();
    let _ = reboot(RebootCommand::PowerOff);
    // A kernel that cannot switch off halts here until the host ends it.
    loop {
        drop(clock::sleep_for(Span::from_secs(3_600)));
    }
}

fn serve() -> io::Result<()> {
    mount_all()?;
    let task: GuestTask = serde_json::from_str(&fs::read_to_string(TASK)?)?;
    for module in &task.modules {
        load(Path::new(module)).map_err(|error| failure(module, error))?;
    }
    let port = port()?;
    // Messages would be printed by an emulated serial port while others are being measured.
    drop(fs::write("/proc/sys/kernel/printk", "4"));
    drop(socket::bring_loopback_up());
    if task.prints {
        control_groups();
    }
    let over = run(&task, &port)?;
    let mut port = fs::File::options().write(true).open(port)?;
    port.write_all(&over.into_line()?)
}

fn failure(what: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}

/// What a program expects to find. What the kernel lacks is not mounted.
fn mount_all() -> io::Result<()> {
    let empty: Option<&CStr> = None;
    let at = |kind: &str, place: &str| mount(kind, place, kind, MountFlags::empty(), empty);
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        at(kind, place).map_err(|error| failure(&format!("mounting {place}"), error))?;
    }
    drop(fs::create_dir_all("/dev/shm"));
    for (kind, place) in
        [("tmpfs", "/dev/shm"), ("tmpfs", "/tmp"), ("tmpfs", "/run"), ("tracefs", "/sys/kernel/tracing")]
    {
        let _ = at(kind, place);
    }
    Ok(())
}

/// Control groups that CPU time can be limited for; where the kernel has none, the code that needs them reports it.
fn control_groups() {
    let (place, empty): (_, Option<&CStr>) = ("/sys/fs/cgroup", None);
    let _ = mount("cgroup2", place, "cgroup2", MountFlags::empty(), empty);
    drop(fs::write(Path::new(place).join("cgroup.subtree_control"), "+cpu"));
}

fn load(module: &Path) -> io::Result<()> {
    let compressed = module.extension().is_some_and(|ending| ending != "ko");
    let file = fs::File::open(module)?;
    match finit_module(&file, c"", if compressed { COMPRESSED } else { 0 }) {
        // Built in.
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The device of the results' port, once the driver has found it.
fn port() -> io::Result<PathBuf> {
    let deadline = clock::now().plus(PORT_APPEARS);
    loop {
        if let Some(device) = virtio_port(&Root::live(), PORT) {
            return Ok(device.into());
        }
        if clock::now() > deadline {
            return Err(io::Error::other(
                "the port for results did not appear: this kernel lacks virtio-pci or virtio_console",
            ));
        }
        clock::sleep_for(Span::from_millis(20))?;
    }
}

/// Runs howlate again, as a normal process.
fn run(task: &GuestTask, port: &Path) -> io::Result<CommandEnd> {
    let mut command = Command::new(THIS_PROGRAM);
    command.args(&task.arguments);
    if !task.prints {
        command.arg("--out").arg(port);
    }
    command.env("HOME", "/tmp").env("PATH", "/").stdin(Stdio::null());
    command.stdout(if task.prints { Stdio::piped() } else { Stdio::null() });
    command.stderr(Stdio::piped());
    let output = if task.prints { with_signs_of_life(port, &mut command)? } else { command.output()? };
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(CommandEnd { exit_status: output.status.code().unwrap_or(-1), stderr, printed })
}

/// Runs what uses the port at its end only: a guest that is slow is told from one that stands still.
fn with_signs_of_life(port: &Path, command: &mut Command) -> io::Result<Output> {
    let mut port = fs::File::options().write(true).open(port)?;
    let (over, is_over) = channel::<()>();
    std::thread::scope(|scope| {
        // A port that takes nothing shows at the end, when the result is written.
        scope.spawn(move || {
            while is_over.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                drop(port.write_all(ALIVE.as_bytes()));
            }
        });
        let output = command.output();
        drop(over);
        output
    })
}
