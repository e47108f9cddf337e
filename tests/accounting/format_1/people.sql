--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: privfit_accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.privfit_accounts (
    dataset text NOT NULL,
    account text NOT NULL,
    format integer NOT NULL,
    promise text NOT NULL,
    "when" text NOT NULL,
    who text NOT NULL,
    seal text NOT NULL
);


--
-- Name: privfit_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.privfit_entries (
    account text NOT NULL,
    number integer NOT NULL,
    what text NOT NULL,
    mechanism text NOT NULL,
    rho text NOT NULL,
    delta text NOT NULL,
    "when" text NOT NULL,
    who text NOT NULL,
    settles integer,
    total_rho text NOT NULL,
    total_delta text NOT NULL,
    seal text NOT NULL
);


--
-- Data for Name: privfit_accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.privfit_accounts VALUES ('census-2026', '963c0f0e0cff489abbc7f238ef29dd76', 1, '{"conversion": "tight", "delta": 1e-06, "epsilon": 3.0, "kind": "concentrated", "rho": 0.18506984057177064, "slack": 0.0}', '2026-11-17', 'ada', '243db638c329273a0debaf5fd6f2ddb0ab3dff4030913c28a0df451331cd065c');
INSERT INTO public.privfit_accounts VALUES ('clinic', 'ccc1651fe48a48439460e3e0224e2dd8', 1, '{"conversion": "tight", "delta": null, "epsilon": null, "kind": "concentrated", "rho": 0.5, "slack": 1e-06}', '2026-11-17', 'ada', '220b34a711c1c1fc8fd0384d23280a3ffffa7674bc6bbfa318c6b13af3f55fa1');
INSERT INTO public.privfit_accounts VALUES ('genomes', 'b7d72f3d01bd4881b7be7f38d5070345', 1, '{"delta": 1e-07, "epsilon": 2.0, "kind": "gaussian", "rho": 0.08336252470261493}', '2026-11-17', 'ada', '59c0904bb16d95ddc4907ee8a1d2da73fa3ff92131dfea0f83b9f95ed4013d6e');
INSERT INTO public.privfit_accounts VALUES ('one release', '8968e9182e6141aca2572ab457a4c9db', 1, '{"delta": 1e-06, "epsilon": 1.0, "kind": "direct"}', '2026-11-17', 'ada', 'abf2ac6627a0caa8f0aa62130200abae0b31622820ad7d9e6711dfd87c739841');
INSERT INTO public.privfit_accounts VALUES ('untouched', 'bdea25bae07848dc8a0edee7441e13e6', 1, '{"conversion": "tight", "delta": 1e-06, "epsilon": 1.0, "kind": "concentrated", "rho": 0.024355970236561775, "slack": 0.0}', '2026-11-17', 'ada', '1cc707780b3ac3a13daf23e17324ea569736b4de6f8e6850c4b007bd69cf1dff');


--
-- Data for Name: privfit_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.privfit_entries VALUES ('963c0f0e0cff489abbc7f238ef29dd76', 1, 'count', 'gaussian', '0.01', '0.0', '2026-11-17', 'ada', NULL, '5764607523034235p-59', '0p0', 'c568a4b78eec09b8636b3354eea315302ed6749f1a7834c97a3fe552305e2de3');
INSERT INTO public.privfit_entries VALUES ('963c0f0e0cff489abbc7f238ef29dd76', 2, 'this fit of DPLinearSVC', 'reserved', '0.02', '0.0', '2026-11-17', 'ada', NULL, '17293822569102705p-59', '0p0', '1aed81bb74d35dc4ad995dbf790ef4aac58b720909578e0ce7d7e84e25d34dc5');
INSERT INTO public.privfit_entries VALUES ('963c0f0e0cff489abbc7f238ef29dd76', 3, 'this fit of DPLinearSVC', 'settled', '-0.0075', '0.0', '2026-11-17', 'ada', 2, '12970366926827029p-59', '0p0', 'ab27c494dd6e37abd2b306675ac43227c47e1e9130fccc89a666cd623775f091');
INSERT INTO public.privfit_entries VALUES ('963c0f0e0cff489abbc7f238ef29dd76', 4, 'this fit of DPLogisticRegression', 'reserved', '0.03', '0.0', '2026-11-17', 'ada', NULL, '30264189495929733p-59', '0p0', '3214cf75e8f9ca1ad6baae3d23072f41b672c821042c4eec11a6afc097afff94');
INSERT INTO public.privfit_entries VALUES ('963c0f0e0cff489abbc7f238ef29dd76', 5, 'mean', '', '0.005', '0.0', '2026-11-17', 'ada', NULL, '66292986514893701p-60', '0p0', 'a920901c2b4e4438dcaf970eefaba4e515198be675f38880b61c5a3312029437');
INSERT INTO public.privfit_entries VALUES ('ccc1651fe48a48439460e3e0224e2dd8', 1, 'bounds', 'choice', '0.1', '1e-07', '2026-11-17', 'ada', NULL, '3602879701896397p-55', '944473296573929p-73', 'e11177e10dfaf4636dca394e53a3abc46d3b26f14dd92d7f1d799f75e50acba3');
INSERT INTO public.privfit_entries VALUES ('ccc1651fe48a48439460e3e0224e2dd8', 2, 'fit', 'reserved', '0.2', '5e-07', '2026-11-17', 'ada', NULL, '10808639105689191p-55', '2833419889721787p-72', 'f2e3d05aea29457334486a03471c9c8966fda6fd9d76352c7df383f1ec773427');
INSERT INTO public.privfit_entries VALUES ('ccc1651fe48a48439460e3e0224e2dd8', 3, 'fit', 'settled', '-0.15', '-4.9e-07', '2026-11-17', 'ada', 2, '1351079888211149p-53', '519460313115661p-72', '5602f52ab20d991758d4fcdd6d0a67cecf6b64e2f53fc7173b4571decf89eac0');
INSERT INTO public.privfit_entries VALUES ('ccc1651fe48a48439460e3e0224e2dd8', 4, 'fit', 'reserved', '0.125', '5.960464477539063e-08', '2026-11-17', 'ada', NULL, '2476979795053773p-53', '800935289826317p-72', '85980e7413311011a1b11946b3c9e4ec8a0de33d30ee4644665fc579e35b92b5');
INSERT INTO public.privfit_entries VALUES ('b7d72f3d01bd4881b7be7f38d5070345', 1, 'scores', 'gaussian', '0.001', '0.0', '2026-11-17', 'ada', NULL, '1152921504606847p-60', '0p0', 'ce7c9e44dc22de3b4874e172daf1849db8fddf2fa497a5fa0008d28dcfd73eb4');
INSERT INTO public.privfit_entries VALUES ('b7d72f3d01bd4881b7be7f38d5070345', 2, 'fit', 'reserved', '0.006178767086116665', '0.0', '2026-11-17', 'ada', NULL, '1034569368768467p-57', '0p0', 'bcf5fea6cfb60963556ce837c3c452e2fad1524cce0f50562b22f9000d9b0879');
INSERT INTO public.privfit_entries VALUES ('b7d72f3d01bd4881b7be7f38d5070345', 3, 'fit', 'settled', '-0.005178767086116665', '0.0', '2026-11-17', 'ada', 2, '1152921504606847p-59', '0p0', '0ef7ee71ace3bf94f255e093de55d4a3d9d951cc0065fa1d7575e0c4c3c4b0dc');
INSERT INTO public.privfit_entries VALUES ('b7d72f3d01bd4881b7be7f38d5070345', 4, 'fit', 'reserved', '0.0016622849640803496', '0.0', '2026-11-17', 'ada', NULL, '16889308364346197p-62', '0p0', '13d598056771d842f1c8a71124b1a2523d87c82689e0180138b3862627e98371');
INSERT INTO public.privfit_entries VALUES ('8968e9182e6141aca2572ab457a4c9db', 1, 'fit', 'reserved', '0.5000000000000004', '1e-06', '2026-11-17', 'ada', NULL, '1125899906842625p-51', '4722366482869645p-72', '1d8a8305a828b736cdfcd4f42c052ceecb662e405b731086497304a388baff38');
INSERT INTO public.privfit_entries VALUES ('8968e9182e6141aca2572ab457a4c9db', 2, 'fit', 'settled', '-0.5000000000000004', '-1e-06', '2026-11-17', 'ada', 1, '0p0', '0p0', '67764fff38a9d757460cee6d45f935eb912c4b4a7cce0f51517a76c96f2a35a4');
INSERT INTO public.privfit_entries VALUES ('8968e9182e6141aca2572ab457a4c9db', 3, 'fit', 'reserved', '0.5000000000000004', '1e-06', '2026-11-17', 'ada', NULL, '1125899906842625p-51', '4722366482869645p-72', '66451ed1d64676eef55e1dce2ec826c2cab9212da2027a0bc9d5a085845e3afd');


--
-- Name: privfit_accounts privfit_accounts_account_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.privfit_accounts
    ADD CONSTRAINT privfit_accounts_account_key UNIQUE (account);


--
-- Name: privfit_accounts privfit_accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.privfit_accounts
    ADD CONSTRAINT privfit_accounts_pkey PRIMARY KEY (dataset);


--
-- Name: privfit_entries privfit_entries_account_settles_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.privfit_entries
    ADD CONSTRAINT privfit_entries_account_settles_key UNIQUE (account, settles);


--
-- Name: privfit_entries privfit_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.privfit_entries
    ADD CONSTRAINT privfit_entries_pkey PRIMARY KEY (account, number);


--
-- PostgreSQL database dump complete
--


