/** Style: the sheet of all rows. Colours come from the page; sizes hold before anything is loaded, so that nothing moves. */

export const STYLE = `:host{display:block}
:host([hidden]),:host([empty]){display:none}
section+section{margin-top:var(--penchant-space,1.5rem)}
[part=heading],::slotted([slot=heading]){font:inherit;font-size:1.25em;font-weight:650;line-height:1.4;margin:0 0 .5rem;min-height:1.4em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
ul{list-style:none;margin:-4px;padding:4px;display:flex;gap:var(--penchant-gap,1rem);overflow-x:auto;scroll-snap-type:x proximity;scroll-padding:4px}
li{flex:none;width:var(--penchant-card,9.5rem);scroll-snap-align:start;line-height:1.35}
[part=link]{display:block;color:inherit;text-decoration:none}
a:hover [part=label]{text-decoration:underline}
:focus-visible{outline:3px solid var(--penchant-accent,currentColor);outline-offset:1px}
[part=picture]{display:block;aspect-ratio:var(--penchant-ratio,2/3);border-radius:var(--penchant-radius,.4rem);overflow:hidden;background:var(--penchant-ground,color-mix(in srgb,currentColor 12%,transparent))}
img{display:block;width:100%;height:100%;object-fit:cover}
[part=label],[part=reason]{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden;overflow-wrap:anywhere;height:2.7em;margin:.4rem 0 .1rem;font-weight:600}
[part=reason]{margin:0;font-size:.85em;font-weight:400;color:var(--penchant-quiet,inherit)}
@media(hover:hover){.hover li:not(:hover,:focus-within) [part=reason]{opacity:0}}`;
