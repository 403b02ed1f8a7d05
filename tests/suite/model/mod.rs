//! The model against truths of its own: what it says each event belongs to, laws that any run obeys, and queues whose
//! waiting times are known in closed form.

mod cases;
mod laws;
mod lifecycles;
mod queues;
mod servers;
mod speed;
mod truth;
