//! The radio information service daemon.
