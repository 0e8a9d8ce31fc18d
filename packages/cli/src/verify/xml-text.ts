/**
 * Text that may stand in XML: markup escaped, and characters that no XML 1.0
 * document may hold, however they are written, left out.
 */
export const xmlText = (text: string): string =>
  text.replaceAll(FORBIDDEN, '').replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')

/** The same in an attribute, where a bare line break would be read as a space. */
export const xmlAttribute = (text: string): string =>
  xmlText(text).replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`)

/** All but tab, line feed, return, and everything from space on without halves of characters and two others. */
const FORBIDDEN = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}
