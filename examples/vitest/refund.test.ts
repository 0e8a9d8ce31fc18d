import { expect, test } from 'retake/vitest'
import { refundAgent } from './refund-agent.ts'

test('a refund after 30 days is denied', async ({ tape }) => {
  const { output } = await tape('tapes/late-refund.tape', () => refundAgent('1182'))
  expect(output.decision).toBe('DENIED')
  expect(output.reason).toContain('30 days')
})

test('nothing about the run has changed', async () => {
  await expect(() => refundAgent('1182')).toReplay('tapes/late-refund.tape')
})
