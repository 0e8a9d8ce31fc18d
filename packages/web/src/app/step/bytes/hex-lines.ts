/** Sixteen bytes as one line of a hex view. */
export interface HexLine {
  readonly offset: string
  readonly hex: string
  readonly text: string
}

const WIDTH = 16

/** The number of lines that many bytes take. */
export const hexLineCount = (bytes: number): number => Math.ceil(bytes / WIDTH)

/** One line of a hex view; only printable ASCII stands in its text. */
export function hexLine(bytes: Uint8Array, line: number): HexLine {
  const piece = bytes.subarray(line * WIDTH, (line + 1) * WIDTH)
  const pairs = Array.from(piece, (byte) => byte.toString(16).padStart(2, '0'))
  return {
    offset: (line * WIDTH).toString(16).padStart(8, '0'),
    hex: `${pairs.slice(0, 8).join(' ')}  ${pairs.slice(8).join(' ')}`.padEnd(WIDTH * 3),
    text: Array.from(piece, (byte) =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·',
    ).join(''),
  }
}
