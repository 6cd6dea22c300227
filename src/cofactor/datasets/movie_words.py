"""Words for invented films: titles by genre, and names of directors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["GENRES", "GENRE_SHARES", "director_names", "titles"]

#: Genres, each with how many of a hundred films it comes first in, adjectives, and nouns of its own.
_LISTS = """
Action 10: Burning Explosive Relentless Savage Steel Final: Ambush Bodyguard Bullet Convoy Detonator Fist Firestorm
  Fugitive Hurricane Mercenary Parachute Pursuit Rampage Reckoning Renegade Showdown Strike Vendetta
Adventure 5: Forbidden Uncharted Sunken Windward Northern Bold: Caravan Castaway Compass Expedition Explorer Glacier
  Island Jungle Lagoon Map Navigator Quest Ravine Reef Schooner Summit Treasure Voyage
Animation 4: Clever Tiny Fearless Sleepy Brave Whistling: Acorn Badger Balloon Duckling Firefly Hedgehog Kitten
  Lantern Otter Penguin Puppet Rabbit Raindrop Robot Snowman Tadpole Tortoise Toymaker
Comedy 24: Awkward Borrowed Reluctant Unlucky Accidental Cheerful: Accordion Bachelor Babysitter Butler Casserole
  Dentist Goose Grandmother Holiday Honeymoon Landlord Mustache Neighbor Nephew Parrot Picnic Reunion Roommate
  Trombone Umbrella Wedding Weekend
Crime 6: Crooked Dirty Loaded Marked Cold Twisted: Bagman Bankroll Boss Counterfeiter Forger Gang Getaway Hustler Jury
  Kingpin Ledger Payroll Precinct Racket Ransom Safecracker Stakeout Verdict
Documentary 3: Living Untold Patient Ordinary Vanishing Human: Archive Beekeeper Bakery Census Choir Coastline
  Election Factory Farm Fisherman Harbor Highway Librarian Marathon Monsoon Orchestra School Village
Drama 26: Tender Fragile Distant Forgotten Unspoken Autumn: Afternoon Anniversary Apprentice Brother Confession
  Daughter Farewell Garden Harvest Homecoming Inheritance Kitchen Letter Mother Orchard Portrait Promise Seamstress
  Sister Snowstorm Summer Teacher Window Winter
Fantasy 2: Enchanted Emerald Ancient Spellbound Moonlit Winged: Alchemist Amulet Crown Dragon Dwarf Enchantress Goblin
  Griffin Kingdom Oracle Phoenix Prophecy Sorcerer Sword Throne Tower Unicorn Wizard
Horror 5: Bleeding Haunted Buried Unholy Ravenous Midnight: Asylum Attic Cellar Coffin Coven Crypt Curse Fang
  Graveyard Hollow Mirror Morgue Nightmare Revenant Scarecrow Scream Vampire Whisper
Musical 2: Swinging Velvet Dancing Broadway Golden Electric: Ballad Cabaret Carousel Chorus Crooner Encore Jukebox
  Lullaby Melody Overture Piano Refrain Rhapsody Songbird Saxophone Serenade Tango Trumpet
Mystery 2: Hidden Locked Crimson Unsolved Missing Curious: Anagram Cipher Clue Detective Diary Disappearance Enigma
  Footprint Inkwell Key Lighthouse Locket Manor Manuscript Painting Riddle Secret Staircase
Romance 4: Parisian Sweet Starlit Perfect Hopeless Second: Admirer Ballroom Bouquet Bride Embrace Fiancé Heart Kiss
  Masquerade Sonnet Perfume Proposal Rendezvous Rose Sweetheart Valentine Vow Waltz
Sci-Fi 4: Quantum Synthetic Outer Infinite Artificial Silver: Android Asteroid Clone Colony Comet Cosmonaut Galaxy
  Hologram Laboratory Machine Nebula Orbit Paradox Planet Probe Signal Starship Transmission
Thriller 6: Deadly Dangerous Sudden Fatal Nameless Silent: Accomplice Alibi Assassin Blackmailer Conspiracy Decoy
  Double Hostage Informer Intruder Motive Obsession Passenger Stalker Stranger Suspect Trap Witness
War 2: Fallen Valiant Wounded Iron Last Scarlet: Armistice Barricade Bunker Battalion Bomber Bugle Captain Deserter
  Outpost Garrison Medal Platoon Regiment Sergeant Siege Sniper Soldier Trench
Western 1: Dusty Outlaw Lonesome Wild Rusty Bitter: Canyon Coyote Deputy Gunslinger Homestead Marshal Mesa Mustang
  Posse Prairie Railroad Ranch Rattlesnake Saddle Saloon Sheriff Stagecoach Stampede
"""
_ADJECTIVES = """
Black Blue Broken Crystal Empty Endless Frozen Gentle Hungry Invisible Little Lost Painted Paper Quiet Restless Stolen
Strange Sunday White Yellow
"""
_PLACES = """
Antwerp Ashford Bristol Cairo Calcutta Cordoba Dakar Edinburgh Fairview Geneva Havana Helsinki Istanbul Jericho Kyoto
Lima Lisbon Marrakesh Memphis Montreal Naples Odessa Palermo Prague Quebec Riga Salzburg Samarkand Savannah Shanghai
Tangier Trieste Valparaiso Vienna Winterport Zanzibar
"""
_FIRST_NAMES = """
Ada Astrid Alma Amir Anton Beatriz Bruno Carmen Clara Dalia Edgar Elena Emeka Farid Felix Greta Hana Hugo Ingrid Irene
Ivan Jorge Julian Kenji Leif Leila Lucia Milan Marta Mei Nadia Nora Omar Oscar Pilar Rafael Rosa Ruth Samir Sofia Teo
Vera Viktor Wanda Yuki Zoe
"""
_LAST_NAMES = """
Abara Almeida Andersen Bergström Castellano Chaudhry Delacroix Dvorak Eriksen Falk Ferreira Fontaine Gallo Greene
Haddad Halloran Hoffmann Ibrahim Ishikawa Jankowski Kaplan Keller Kovacs Lindqvist Lombardi Mbeki Moreau Moreno
Nakamura Novak Okafor Olsen Petrov Quinn Rahman Rossi Sandoval Sato Sorensen Tanaka Varga Vance Whitaker Yilmaz
Zielinski
"""


def _parsed() -> dict[str, tuple[float, list[str], list[str]]]:
    found = {}
    for entry in _LISTS.strip().replace("\n  ", " ").split("\n"):
        head, adjectives, nouns = entry.split(":")
        genre, share = head.split()
        found[genre] = (float(share), adjectives.split(), nouns.split())
    return found


_BY_GENRE = _parsed()
GENRES = tuple(_BY_GENRE)
GENRE_SHARES = np.array([share for share, _, _ in _BY_GENRE.values()])
GENRE_SHARES /= GENRE_SHARES.sum()


def _candidates(genre: str) -> dict[str, tuple[float, list[str]]]:
    """Return the titles that a genre can have, by pattern, with how often it is used."""
    _, own, nouns = _BY_GENRE[genre]
    adjectives, names = own + _ADJECTIVES.split(), _FIRST_NAMES.split()
    return {
        "adjective": (0.35, [f"The {adjective} {noun}" for adjective in adjectives for noun in nouns]),
        "bare": (0.16, [f"{adjective} {noun}" for adjective in adjectives for noun in nouns]),
        "place": (0.16, [f"{_article(noun)} {noun} in {place}" for noun in nouns for place in _PLACES.split()]),
        "owner": (0.13, [f"{name}'s {noun}" for name in names for noun in nouns]),
        "gift": (0.1, [f"{_article(noun)} {noun} for {name}" for noun in nouns for name in names]),
        "pair": (0.1, [f"The {one} and the {other}" for one in nouns for other in nouns if one != other]),
    }


def _article(noun: str) -> str:
    return "An" if noun[0] in "AEIO" or noun == "Umbrella" else "A"


def titles(rng: np.random.Generator, genres: NDArray[np.int64]) -> NDArray[np.object_]:
    """Invent a title for each film, by its genre; when all of a pattern are used they go on with numbers."""
    found = np.empty(len(genres), dtype=object)
    for number, genre in enumerate(GENRES):
        films = np.flatnonzero(genres == number)
        patterns = list(_candidates(genre).values())
        counts = rng.multinomial(len(films), [share for share, _ in patterns])
        made: list[str] = []
        for count, (_, texts) in zip(counts.tolist(), patterns, strict=True):
            order = rng.permutation(len(texts)).tolist()
            made += [
                texts[order[k % len(texts)]] + (f" {k // len(texts) + 1}" if k >= len(texts) else "")
                for k in range(count)
            ]
        found[films] = rng.permutation(np.array(made, dtype=object))
    return found


def director_names(rng: np.random.Generator, n: int) -> NDArray[np.object_]:
    """Invent so many different names."""
    first, last = _FIRST_NAMES.split(), _LAST_NAMES.split()
    pairs = len(first) * len(last)
    places = rng.permutation(pairs)[np.arange(n) % pairs]
    initials = ["", *(f" {letter}." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")]
    names = [
        f"{first[place // len(last)]}{initials[k // pairs % len(initials)]} {last[place % len(last)]}"
        for k, place in enumerate(places.tolist())
    ]
    return np.array(names, dtype=object)
