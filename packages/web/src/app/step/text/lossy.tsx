import { Badge } from '../../design/badge.js'

/** Says that a text is not what was written, byte by byte. */
export const Lossy = () => (
  <Badge tone="warning" title="A replacement character stands for each byte that is no UTF-8">
    not all of it is text
  </Badge>
)
