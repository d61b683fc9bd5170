//! Connections by number, with the numbers used again.

/// A place's number and how often it has been used: events of a former tenant can be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) index: u32,
    /// Of 31 bits.
    pub(super) generation: u32,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    tenant: Option<T>,
}

/// Values by [`Key`].
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts a value in.
    pub(super) fn insert(&mut self, value: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place {
                generation: 0,
                tenant: None,
            });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        place.tenant = Some(value);
        Key {
            index,
            generation: place.generation,
        }
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        place.tenant.as_mut()
    }

    /// The value of a key, unless it has gone.
    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let place = self.places.get(key.index as usize)?;
        let is_it = place.generation == key.generation;
        place.tenant.as_ref().filter(|_| is_it)
    }

    /// Takes a value out.
    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let tenant = place.tenant.take()?;
        place.generation = (place.generation + 1) & 0x7fff_ffff;
        self.free.push(key.index);
        Some(tenant)
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// All values, to be changed.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places
            .iter_mut()
            .filter_map(|place| place.tenant.as_mut())
    }

    /// All values with their keys, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut T)> {
        let places = self.places.iter_mut().enumerate();
        places.filter_map(|(index, place)| {
            let key = Key {
                index: index as u32,
                generation: place.generation,
            };
            place.tenant.as_mut().map(|tenant| (key, tenant))
        })
    }

    /// All values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.places.iter().enumerate().filter_map(|(index, place)| {
            let key = Key {
                index: index as u32,
                generation: place.generation,
            };
            place.tenant.as_ref().map(|tenant| (key, tenant))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_tenants_key_opens_nothing() {
        let mut slab = Slab::new();
        let a = slab.insert('a');
        assert_eq!(slab.remove(a), Some('a'));
        let b = slab.insert('b');
        assert_eq!((a.index, slab.len()), (b.index, 1));
        assert!(slab.get_mut(a).is_none() && slab.remove(a).is_none());
        assert_eq!(slab.get_mut(b), Some(&mut 'b'));
        slab.values_mut().for_each(|value| *value = 'c');
        assert_eq!(
            slab.iter().map(|(_, value)| *value).collect::<String>(),
            "c"
        );
    }
}
