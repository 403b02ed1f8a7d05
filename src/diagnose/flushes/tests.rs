//! Rules against hand-made traces.
