import { RetakeError } from '@retake/engine/errors'

export const runHasNoEnd = (id: string): RetakeError =>
  new RetakeError(
    'RUN_HAS_NO_END',
    `Run ${id} was cut off before its end.`,
    'Other orders are judged by comparing what they come to, and it came to nothing.',
    `Let it come to its end with \`retake resume ${id}\`, or record it again.`,
  )

export const recordedOrderDiffers = (id: string, how: string): RetakeError =>
  new RetakeError(
    'RECORDED_ORDER_DIFFERS',
    `In the recorded order, run ${id} no longer comes to what was recorded: ${how}.`,
    'The code has changed, or it does something that is not captured. Other orders would prove nothing.',
    `\`retake replay ${id}\` shows the first difference; record again once it is gone.`,
  )
