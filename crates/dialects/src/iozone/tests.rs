//! Words in, work and text out.

use super::*;
