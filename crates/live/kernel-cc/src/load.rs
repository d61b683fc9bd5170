//! Loads and registers the programs.

use libbpf_rs::{
    ErrorKind, Link, MapCore, MapHandle, Object, ObjectBuilder, PrintLevel, ProgramInput,
    ProgramOutput, set_print,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Most bytes of a congestion control's name (`TCP_CA_NAME_MAX` less the final zero).
pub(crate) const MAX_NAME_BYTES: usize = 15;

/// A congestion control of a program: what it is called there, and what it is to be called.
#[derive(Clone, Debug)]
pub struct Naming<'a> {
    /// Name of the `struct_ops` map.
    pub map: &'a str,
    /// The name that the program was compiled with.
    pub compiled: &'a str,
    /// The name to be chosen by, at most 15 bytes.
    pub name: &'a str,
}

/// `BPF_F_LINK` (linux/bpf.h): a congestion control is registered for as long as a link to it is open.
const BY_LINK: u32 = 1 << 13;

/// How congestion controls are registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    /// By a link (Linux 6.4): the kernel takes it back with the process, however that ends.
    Link,
    /// With the value of their map: it stays if the process is killed.
    Value,
}

/// What of a program is not as it was compiled.
#[derive(Clone, Copy, Default)]
struct Shape<'a> {
    /// Sections of programs, or maps, that are not loaded.
    without: &'a [&'a str],
    /// Entries of maps.
    sizes: &'a [(&'a str, u32)],
}

/// A loaded program. Its congestion controls can be chosen as long as this lives; connections that
/// have one keep it.
pub struct Loaded {
    // dropped in this order: the registrations, then what they were made from
    links: Vec<Link>,
    object: Object,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").finish_non_exhaustive()
    }
}

impl Loaded {
    /// Loads a compiled program and registers its congestion controls. `prepare` is called after
    /// loading, before anything can be chosen.
    ///
    /// # Errors
    /// The kernel's: most often that the rights (`CAP_BPF`, `CAP_NET_ADMIN`) are missing.
    pub fn register(
        program: &[u8],
        controls: &[Naming<'_>],
        prepare: impl FnOnce(&Object) -> io::Result<()>,
    ) -> io::Result<Self> {
        Self::load(program, controls, Shape::default(), prepare)
    }

    /// The same without the parts of it of these names: sections of programs, or `struct_ops` maps.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_part(
        program: &[u8],
        controls: &[Naming<'_>],
        without: &[&str],
        prepare: impl FnOnce(&Object) -> io::Result<()>,
    ) -> io::Result<Self> {
        let sizes = &[];
        Self::load(program, controls, Shape { without, sizes }, prepare)
    }

    /// The same with maps of other sizes than the program was compiled with.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub fn register_sized(
        program: &[u8],
        controls: &[Naming<'_>],
        sizes: &[(&str, u32)],
        prepare: impl FnOnce(&Object) -> io::Result<()>,
    ) -> io::Result<Self> {
        let without = &[];
        Self::load(program, controls, Shape { without, sizes }, prepare)
    }

    fn load(
        program: &[u8],
        controls: &[Naming<'_>],
        shape: Shape<'_>,
        prepare: impl FnOnce(&Object) -> io::Result<()>,
    ) -> io::Result<Self> {
        set_print(Some((PrintLevel::Info, log_of_libbpf)));
        let mut object = match object(program, controls, shape, Registration::Link) {
            Err(error) if error.kind() == ErrorKind::InvalidInput && !controls.is_empty() => {
                tracing::debug!(%error, "registered without a link, which Linux has from 6.4 on");
                object(program, controls, shape, Registration::Value)
            }
            other => other,
        }
        .map_err(|e| error_of(&e))?;
        prepare(&object)?;
        let mut links = Vec::new();
        for mut map in object.maps_mut() {
            if controls.iter().any(|control| map.name() == control.map) {
                links.push(map.attach_struct_ops().map_err(|e| error_of(&e))?);
            }
        }
        if links.len() < controls.len() {
            return Err(io::Error::other("the program lacks a struct_ops map"));
        }
        Ok(Self { links, object })
    }

    /// Has the program of a section run for a cgroup, from now on until this is dropped.
    ///
    /// # Errors
    /// The kernel's, or that there is no such program.
    pub fn attach(&mut self, section: &str, cgroup: BorrowedFd<'_>) -> io::Result<()> {
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.section() == section);
        let program = program.ok_or_else(|| io::Error::other(format!("no program {section}")))?;
        let link = program.attach_cgroup(cgroup.as_raw_fd());
        self.links.push(link.map_err(|e| error_of(&e))?);
        Ok(())
    }

    /// The program of a section, to be attached by its descriptor.
    ///
    /// # Errors
    /// The kernel's, or that there is no such program.
    pub fn program(&self, section: &str) -> io::Result<OwnedFd> {
        let mut programs = self.object.progs();
        let program = programs.find(|program| program.section() == section);
        let program = program.ok_or_else(|| io::Error::other(format!("no program {section}")))?;
        program.as_fd().try_clone_to_owned()
    }

    /// The program of a name, to be attached by its descriptor.
    ///
    /// # Errors
    /// The kernel's, or that there is no such program.
    pub fn program_named(&self, name: &str) -> io::Result<OwnedFd> {
        let mut programs = self.object.progs();
        let program = programs.find(|program| program.name() == name);
        let program = program.ok_or_else(|| io::Error::other(format!("no program {name}")))?;
        program.as_fd().try_clone_to_owned()
    }

    /// Runs a program of the section `syscall` once. What it changes of its argument is written back.
    ///
    /// # Errors
    /// The kernel's, or that there is no such program.
    pub fn run(&self, name: &str, argument: &mut [u8]) -> io::Result<u32> {
        let input = ProgramInput {
            context_in: Some(argument),
            ..ProgramInput::default()
        };
        Ok(self.run_with(name, input)?.return_value)
    }

    /// Runs a program on what is handed to it here.
    ///
    /// # Errors
    /// The kernel's, or that there is no such program.
    pub fn run_with<'a>(
        &self,
        name: &str,
        input: ProgramInput<'a>,
    ) -> io::Result<ProgramOutput<'a>> {
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.name() == name);
        let program = program.ok_or_else(|| io::Error::other(format!("no program {name}")))?;
        program.test_run(input).map_err(|e| error_of(&e))
    }

    /// A map of the program.
    ///
    /// # Errors
    /// If it has none of that name.
    pub fn map(&self, name: &str) -> io::Result<MapHandle> {
        map_of(&self.object, name)
    }
}

/// Whether this machine has a congestion control of that name: names are one for all network namespaces.
pub fn is_registered(name: &str) -> bool {
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    known.is_ok_and(|known| known.split_whitespace().any(|other| other == name))
}

/// A program in the kernel, of which nothing runs yet.
fn object(
    program: &[u8],
    controls: &[Naming<'_>],
    shape: Shape<'_>,
    registration: Registration,
) -> libbpf_rs::Result<Object> {
    let mut open = ObjectBuilder::default().open_memory(program)?;
    for mut map in open.maps_mut() {
        let map_name = map.name().to_owned();
        if shape.without.iter().any(|name| map_name == *name) {
            map.set_autocreate(false)?;
        }
        if let Some((_, entries)) = shape.sizes.iter().find(|(name, _)| map_name == *name) {
            map.set_max_entries(*entries)?;
        }
        if let Some(control) = controls.iter().find(|control| map_name == control.map) {
            rename(map.initial_value_mut().unwrap_or_default(), control)?;
            if registration == Registration::Value {
                map.set_map_flags(map.map_flags() & !BY_LINK)?;
            }
        }
    }
    for mut part in open.progs_mut() {
        if shape.without.iter().any(|name| part.section() == *name) {
            part.set_autoload(false);
        }
    }
    open.load()
}

/// A map of a program.
pub(crate) fn map_of(object: &Object, name: &str) -> io::Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == name);
    let map = map.ok_or_else(|| io::Error::other(format!("the program has no map {name}")))?;
    MapHandle::try_from(&map).map_err(|e| error_of(&e))
}

fn log_of_libbpf(level: PrintLevel, mut message: String) {
    message.truncate(message.trim_end().len());
    match level {
        PrintLevel::Debug => tracing::trace!(target: "libbpf", "{message}"),
        _ => tracing::debug!(target: "libbpf", "{message}"),
    }
}

/// An error of libbpf as one of the system.
pub fn error_of(error: &libbpf_rs::Error) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("{error:#}"))
}

/// Writes the name over the one that the program was compiled with.
fn rename(value: &mut [u8], control: &Naming<'_>) -> io::Result<()> {
    let compiled = [control.compiled.as_bytes(), b"\0"].concat();
    let at = value.windows(compiled.len()).position(|w| w == compiled);
    let name = control.name.as_bytes();
    match at.and_then(|at| value.get_mut(at..at + MAX_NAME_BYTES + 1)) {
        Some(place) if name.len() <= MAX_NAME_BYTES => {
            place.fill(0);
            place[..name.len()].copy_from_slice(name);
            Ok(())
        }
        _ => Err(io::Error::other("the program's name cannot be replaced")),
    }
}
