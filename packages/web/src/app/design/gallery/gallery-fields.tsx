import { useState } from 'react'
import { Checkbox } from '../checkbox.js'
import { Select } from '../select.js'
import { TextField } from '../text-field.js'
import { LONG, Specimen } from './specimen.js'

const OPTIONS = [
  { value: 'all', title: 'Any status' },
  { value: 'failed', title: 'failed' },
]

/** What is filled in. */
export function GalleryFields() {
  const [text, setText] = useState('refund')
  const [isChecked, setIsChecked] = useState(true)
  const [option, setOption] = useState('all')
  return (
    <>
      <Specimen title="TextField">
        <TextField label="Name" value={text} onChange={setText} hint="It can be changed later." />
        <TextField label="Empty" value="" onChange={() => {}} placeholder="Name, id or parent" />
        <TextField label="Wrong" value="4x" onChange={() => {}} error="That is no number." />
        <TextField label="Disabled" value="served" onChange={() => {}} disabled />
        <TextField label="Long" value={LONG} onChange={() => {}} />
      </Specimen>
      <Specimen title="Select">
        <Select label="Status" value={option} options={OPTIONS} onChange={setOption} />
        <Select label="Disabled" value="all" options={OPTIONS} onChange={() => {}} disabled />
      </Specimen>
      <Specimen title="Checkbox">
        <Checkbox label="Yes or no" isChecked={isChecked} onChange={setIsChecked} />
        <Checkbox label="Off" isChecked={false} onChange={() => {}} />
        <Checkbox label="With a hint" hint={LONG} isChecked onChange={() => {}} />
        <Checkbox label="Disabled" isChecked onChange={() => {}} disabled />
      </Specimen>
    </>
  )
}
