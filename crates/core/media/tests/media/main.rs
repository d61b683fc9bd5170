//! Behaviour of the controllers over a link, and what holds for any feedback.

mod link;
mod properties;
mod steps;
