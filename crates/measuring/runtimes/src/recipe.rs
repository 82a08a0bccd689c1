//! How the probe program of each runtime is built and started.

use howlate_model::Runtime;

/// A required program with its possible names and its Debian package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredTool {
    /// The first one found is used.
    pub(crate) names: &'static [&'static str],
    pub(crate) package: &'static str,
}

/// How a source file is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiler {
    pub(crate) tool: RequiredTool,
    /// Argument that prints the version.
    pub(crate) version: &'static str,
    /// Arguments to compile, in the folder of the source files.
    pub(crate) arguments: &'static [&'static str],
}

/// How a source file is interpreted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interpreter {
    pub(crate) tool: RequiredTool,
    /// Arguments that print its real path, because wrappers of version managers must not be measured.
    pub(crate) place: Option<&'static [&'static str]>,
}

/// How a program is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StartMethod {
    /// An executable.
    Program(&'static str),
    /// A script for an interpreter.
    Script(Interpreter, &'static str),
    /// A class for a Java virtual machine.
    Class(RequiredTool, &'static str),
}

/// Name and content of a file.
pub(crate) type SourceFile = (&'static str, &'static str);

/// How the program of a runtime is built and started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) sources: &'static [SourceFile],
    /// `None` for scripts.
    pub(crate) compiler: Option<Compiler>,
    /// How it is started, in the folder with these files.
    pub(crate) start: StartMethod,
    /// An argument after those of the protocol.
    pub(crate) last: Option<&'static str>,
}

macro_rules! source {
    ($file:literal) => {
        &[($file, include_str!(concat!("../programs/", $file)))]
    };
}

const PYTHON: Interpreter = Interpreter {
    tool: RequiredTool { names: &["python3"], package: "python3" },
    place: Some(&["-c", "import sys; print(sys.executable)"]),
};
const NODE: Interpreter = Interpreter {
    tool: RequiredTool { names: &["node", "nodejs"], package: "nodejs" },
    place: Some(&["-p", "process.execPath"]),
};
const BASH: Interpreter =
    Interpreter { tool: RequiredTool { names: &["bash"], package: "bash" }, place: None };
const JAVA: RequiredTool = RequiredTool { names: &["java"], package: "default-jdk-headless" };

const C: Compiler = Compiler {
    tool: RequiredTool { names: &["cc", "gcc", "clang"], package: "gcc" },
    version: "--version",
    arguments: &["-O2", "-o", "probe", "c.c"],
};
const CPP: Compiler = Compiler {
    tool: RequiredTool { names: &["c++", "g++", "clang++"], package: "g++" },
    version: "--version",
    arguments: &["-O2", "-std=c++17", "-o", "probe", "cpp.cpp"],
};
const RUST: Compiler = Compiler {
    tool: RequiredTool { names: &["rustc"], package: "rustc" },
    version: "--version",
    arguments: &["-O", "--edition", "2021", "-o", "probe", "rust.rs"],
};
const GO: Compiler = Compiler {
    tool: RequiredTool { names: &["go"], package: "golang-go" },
    version: "version",
    arguments: &["build", "-o", "probe", "go.go"],
};
const JAVAC: Compiler = Compiler {
    tool: RequiredTool { names: &["javac"], package: "default-jdk-headless" },
    version: "-version",
    arguments: &["Java.java"],
};

const CARGO: Compiler = Compiler {
    tool: RequiredTool { names: &["cargo"], package: "cargo" },
    version: "--version",
    arguments: &["build", "--quiet", "--release", "--locked", "--target-dir", "target"],
};
/// Needs crates from crates.io.
const TOKIO_SOURCES: &[SourceFile] = &[
    ("tokio.rs", include_str!("../programs/tokio/tokio.rs")),
    ("Cargo.toml", include_str!("../programs/tokio/manifest.toml")),
    ("Cargo.lock", include_str!("../programs/tokio/Cargo.lock")),
];

impl Recipe {
    /// The recipe of `runtime`; `None` for a user's own program.
    pub(crate) fn for_runtime(runtime: Runtime) -> Option<Self> {
        Some(match runtime {
            Runtime::Python => Self::interpreted(source!("python.py"), PYTHON),
            Runtime::Node => Self::interpreted(source!("node.js"), NODE),
            Runtime::Shell => Self::interpreted(source!("shell.sh"), BASH),
            Runtime::C => Self::compiled(source!("c.c"), C),
            Runtime::Cpp => Self::compiled(source!("cpp.cpp"), CPP),
            Runtime::Rust => Self::compiled(source!("rust.rs"), RUST),
            Runtime::Go => Self::compiled(source!("go.go"), GO),
            Runtime::Java => Self {
                start: StartMethod::Class(JAVA, "Java"),
                ..Self::compiled(source!("Java.java"), JAVAC)
            },
            Runtime::JavaPark => Self { last: Some("park"), ..Self::for_runtime(Runtime::Java)? },
            Runtime::Tokio => Self {
                start: StartMethod::Program("target/release/probe"),
                ..Self::compiled(TOKIO_SOURCES, CARGO)
            },
            Runtime::Own(_) => return None,
        })
    }

    const fn interpreted(sources: &'static [SourceFile], interpreter: Interpreter) -> Self {
        Self { sources, compiler: None, start: StartMethod::Script(interpreter, sources[0].0), last: None }
    }

    const fn compiled(sources: &'static [SourceFile], compiler: Compiler) -> Self {
        Self { sources, compiler: Some(compiler), start: StartMethod::Program("probe"), last: None }
    }

    /// All required tools.
    pub(crate) fn tools(&self) -> impl Iterator<Item = RequiredTool> {
        let interpreter = match self.start {
            StartMethod::Program(_) => None,
            StartMethod::Script(interpreter, _) => Some(interpreter.tool),
            StartMethod::Class(tool, _) => Some(tool),
        };
        self.compiler.map(|compiler| compiler.tool).into_iter().chain(interpreter)
    }
}
